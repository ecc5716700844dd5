/** Clients that follow tasks, and agents that work on them, over HTTP to a server that is killed repeatedly. */
import { randomUUID } from 'node:crypto'
import { Semaphore } from '../../../src/lib/limits/semaphore.ts'
import { type OpenStream, readStream } from '../../support/a2a.ts'
import { bearer, callTool, post } from '../client.ts'

/** The current server. After a kill, `url` resolves when the next one responds. */
export interface CurrentServer {
  url(): Promise<string>
}

interface Agent {
  alias: string
  key: string
}

/** The events that one subscriber received. */
export interface Seen {
  taskId: string
  /** The numbers of the events in the order of arrival. */
  ids: number[]
  /** The text of each artifact by its id, as the events contain it. */
  artifacts: Map<string, string>
  state: string
  /** Number of streams that the subscriber opened. */
  streams: number
}

/** Retries a call until it gets a response, because a kill aborts calls. Only for calls that are safe to retry. */
async function untilAnswered<T>(server: CurrentServer, call: (url: string) => Promise<T>): Promise<T> {
  for (;;) {
    const url = await server.url()
    try {
      return await call(url)
    } catch (error) {
      if (!isCutOff(error)) throw error
    }
  }
}

/** Starts a task at an agent's endpoint. Resolves to its id. */
export async function startTask(server: CurrentServer, { key }: Agent, { alias }: Agent): Promise<string> {
  const idempotencyKey = randomUUID()
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Work.' }] }
  const params = { message, configuration: { returnImmediately: true } }
  const { body } = await untilAnswered(
    server,
    (url) =>
      post(url, `/a2a/v1/agents/${alias.slice(1)}`, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, {
        ...bearer(key),
        'Idempotency-Key': idempotencyKey,
      }),
  )
  return body.result.task.id
}

/**
 * Works on a task: sends some artifacts, then completes it. A step whose response was lost is retried, so a task may
 * have extra events. `onStep` is called after each step.
 */
export async function workOn(server: CurrentServer, { key }: Agent, taskId: string, steps: number, onStep: () => void) {
  for (let n = 1; n <= steps; n++) {
    const update = n < steps
      ? { task_id: taskId, text: `Part ${n}.`, artifact: { id: `artifact-${n}`, last_chunk: true } }
      : { task_id: taskId, state: 'completed' }
    await untilAnswered(server, (url) => callTool(url, key, 'update_task', update))
    onStep()
  }
}

/** Limits how many streams are opened at a time when hundreds of clients reconnect. */
const opening = new Semaphore({ maxConcurrent: 20, maxQueued: 10_000 })

/** Follows a task from its first event to its last, over as many streams as needed. */
export async function follow(server: CurrentServer, { key }: Agent, taskId: string): Promise<Seen> {
  const seen: Seen = { taskId, ids: [], artifacts: new Map(), state: '', streams: 0 }
  const isEnded = () => seen.state === 'TASK_STATE_COMPLETED'
  while (!isEnded()) {
    const url = await server.url()
    try {
      const stream = await opening.run(() => subscribe(url, key, taskId, seen.ids.at(-1) ?? 0), () => new Busy())
      seen.streams++
      for (let event = await stream.next(); event; event = await stream.next()) {
        seen.ids.push(event.id!)
        const { statusUpdate, artifactUpdate } = event.result
        if (statusUpdate) seen.state = statusUpdate.status.state
        if (artifactUpdate) apply(seen.artifacts, artifactUpdate)
      }
    } catch (error) {
      if (!isCutOff(error)) throw error
    }
  }
  return seen
}

/** Returns a task's artifacts, as the grid reports them. */
export async function artifactsOf(url: string, { key }: Agent, id: string): Promise<Map<string, string>> {
  const { body } = await post(
    url,
    '/a2a/v1/grid',
    { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } },
    bearer(key),
  )
  const artifacts: { artifactId: string; parts: { text: string }[] }[] = body.result.artifacts ?? []
  return new Map(artifacts.map(({ artifactId, parts }) => [artifactId, textOf(parts)]))
}

/** Follows a task after an event. Fails if the response is not a stream. */
export async function subscribe(url: string, key: string, id: string, lastEventId: number): Promise<OpenStream> {
  const response = await fetch(`${url}/a2a/v1/grid`, {
    method: 'POST',
    headers: { ...bearer(key), 'Content-Type': 'application/json', 'Last-Event-ID': `${lastEventId}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
  })
  if (response.status === 503) throw new Busy()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(`No stream of task ${id} behind ${lastEventId}: ${await response.text()}`)
  }
  return readStream(response)
}

interface ArtifactUpdate {
  artifact: { artifactId: string; parts: { text: string }[] }
  append?: boolean
}

function apply(artifacts: Map<string, string>, { artifact: { artifactId, parts }, append }: ArtifactUpdate): void {
  artifacts.set(artifactId, (append ? artifacts.get(artifactId) ?? '' : '') + textOf(parts))
}

function textOf(parts: { text: string }[]): string {
  return parts.map(({ text }) => text).join('')
}

/** The error of a server that has no capacity for a call now. */
class Busy extends Error {}

/** Whether the server was busy, or a kill broke the connection. A kill may also truncate a frame or a response. */
function isCutOff(error: unknown): boolean {
  if (error instanceof Busy || String(error).includes('calls wait')) return true
  return error instanceof TypeError || error instanceof SyntaxError ||
    (error as { name?: string }).name === 'AbortError'
}
