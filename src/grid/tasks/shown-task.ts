/** Renders stored tasks and their events. See docs/protocol/messages.md, "Tasks". */
import { withoutInvisibleIn } from '../../lib/invisible-text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { TaskEnd } from '../../store/account/task-ends.ts'
import type { TaskEventRow, TaskMessageRow, TaskPartRow, TaskRow } from '../../store/account/tasks.ts'
import type { StoredPart } from '../../store/account/new-message.ts'
import type { A2aDetails } from '../message/outgoing-message.ts'
import { hasTextInParts } from '../message/shown-parts.ts'
import type { Part } from '../message/part.ts'
import type { Artifact, Task, TaskEvent, TaskMessage, TaskStatus } from './task.ts'

export interface Viewer {
  account: { read: Pick<AccountStore['read'], 'tasks'>; deps: AccountStore['deps'] }
  end: TaskEnd
  agentId: string
}

interface TaskDetail {
  historyLength?: number
  withArtifacts: boolean
  /** The task as of this event. */
  upTo?: { n: number; at: number }
}

/** Replaces a message in a history if the client must not learn its redacted text. */
const hiddenText = 'A guardrail of the recipient masked this message.'

export async function shownTasks(viewer: Viewer, rows: readonly TaskRow[], detail: TaskDetail): Promise<Task[]> {
  if (rows.length === 0) return []
  const { account: { read: { tasks } }, end, agentId } = viewer
  const ids = rows.map(({ id }) => id)
  const [history, events] = await Promise.all([
    detail.historyLength === 0 ? [] : tasks.history(end, agentId, ids),
    tasks.events(end, agentId, ids, detail),
  ])
  const parts = await partsOf(viewer, ids, [...history, ...events])
  const historyOf = byTask(history)
  const eventsOf = byTask(events)
  return rows.map((row): Task => {
    // The status and the artifacts come from the same events, because the task may have changed since its row was read.
    const { n: last, at: until } = detail.upTo ?? { n: Infinity, at: Infinity }
    const ofTask = (eventsOf.get(row.id) ?? []).filter(({ n }) => n <= last)
    const shown = ofTask.map((event) => eventOf(event, parts))
    const messages = (historyOf.get(row.id) ?? []).filter(({ role, at }) => role !== 'result' && at <= until)
    return {
      id: row.id,
      contextId: row.contextId,
      recipient: row.recipientAlias,
      status: shown.flatMap((event) => event.type === 'status' ? [event.status] : []).at(-1) ??
        { state: row.state, at: row.statusAt },
      history: lastOf(messages, detail.historyLength).map((message) => messageOf(message, parts)),
      artifacts: artifactsOf(shown),
      generation: detail.withArtifacts ? shown.at(-1)?.n ?? row.generation : row.generation,
      mode: row.mode,
    }
  })
}

export async function shownEvents(viewer: Viewer, task: string, rows: readonly TaskEventRow[]): Promise<TaskEvent[]> {
  const parts = await partsOf(viewer, [task], rows)
  return rows.map((row) => eventOf(row, parts))
}

type Parts = ReadonlyMap<string, TaskPartRow & { isUrl?: boolean; bytes?: number }>

/** Returns the separately stored content of these messages. */
async function partsOf(
  { account: { read: { tasks }, deps: { config } }, end, agentId }: Viewer,
  ids: readonly string[],
  rows: readonly { messageId: string | null; a2a: string | null }[],
): Promise<Parts> {
  const split = rows.filter(({ a2a }) => a2a?.includes('"part_id"')).map(({ messageId }) => messageId!)
  const apart = split.length > 0 ? await tasks.parts(end, agentId, ids, split) : []
  return new Map(apart.map((part) => {
    // An upload is too long for a task, so it becomes a URL from which the client fetches the content with its own key.
    const isUpload = part.encoding === 'upload'
    return [part.id, isUpload ? { ...part, isUrl: true, content: `${config.baseUrl}/api/v1/parts/${part.id}` } : part]
  }))
}

function eventOf(row: TaskEventRow, apart: Parts): TaskEvent {
  const { n, at, state, reason } = row
  const said = row.body === null ? undefined : contentOf(row.body, row.a2a, apart)
  if (state === null) {
    const artifact: Artifact = {
      artifactId: row.artifactId ?? '',
      ...(row.name !== null && { name: row.name }),
      // The content is missing if the message was removed after its retention.
      parts: row.parts === null ? said?.parts ?? [] : JSON.parse(row.parts),
    }
    return { n, at, type: 'artifact', artifact, append: row.append === 1, lastChunk: row.lastChunk === 1 }
  }
  const message: TaskMessage | undefined = said
    ? { messageId: row.messageId!, role: 'agent', parts: said.parts }
    : reason === null
    ? undefined
    : { messageId: `${row.taskId}.${n}`, role: 'agent', parts: [{ text: reason }] }
  const status: TaskStatus = { state, at, ...(message && { message }) }
  return { n, at, type: 'status', status }
}

/** Returns the artifacts formed by a task's chunks, in the order in which they began. */
function artifactsOf(events: readonly TaskEvent[]): Artifact[] {
  const artifacts = new Map<string, Artifact>()
  for (const event of events) {
    if (event.type !== 'artifact') continue
    const { artifactId } = event.artifact
    const known = event.append ? artifacts.get(artifactId) : undefined
    if (known) known.parts.push(...event.artifact.parts)
    else artifacts.set(artifactId, { ...event.artifact, parts: [...event.artifact.parts] })
  }
  return [...artifacts.values()]
}

function messageOf({ messageId, role, body, a2a, isHidden }: TaskMessageRow, apart: Parts): TaskMessage {
  const { parts, details } = contentOf(body, a2a, apart)
  const { metadata, extensions, referenceTaskIds } = details
  return {
    messageId: details.messageId ?? messageId,
    role: role === 'user' ? 'user' : 'agent',
    parts: isHidden === 1 ? [{ text: hiddenText }] : parts,
    ...(metadata && isHidden !== 1 && { metadata }),
    ...(extensions && { extensions }),
    ...(referenceTaskIds && { referenceTaskIds }),
  }
}

interface Handle {
  kind: string
  part_id: string
  filename?: string
  mediaType?: string
  metadata?: Record<string, unknown>
}

type Details = Partial<Pick<TaskMessage, 'messageId' | 'metadata' | 'extensions' | 'referenceTaskIds'>> & {
  parts?: (Part | Handle)[]
  more?: Handle[]
}

/** Returns a message's content as sent, including what is stored separately. */
function contentOf(body: string, a2a: string | null, apart: Parts): { parts: Part[]; details: Details } {
  const details: Details = a2a === null ? {} : withoutInvisibleIn(JSON.parse(a2a))
  for (const { kind, part_id } of details.more ?? []) {
    const part = apart.get(part_id)
    if (part) Object.assign(details, { [kind]: JSON.parse(part.content) })
  }
  const parts = withText(body, a2a, details.parts).flatMap((part) => isHandle(part) ? wholeOf(part, apart) : [part])
  return { parts, details }
}

/** Returns a message's details as given to its send. `apart`: the details that are stored separately. */
export function wholeDetails(a2a: string, apart: readonly StoredPart[]): A2aDetails {
  const stored = new Map(apart.map((part) => [part.id, { ...part }]))
  const { more = [], parts, ...details }: Details = JSON.parse(a2a)
  for (const { kind, part_id } of more) {
    const part = stored.get(part_id)
    if (part) Object.assign(details, { [kind]: JSON.parse(part.content) })
  }
  return {
    ...details,
    ...(parts && { parts: parts.flatMap((part) => isHandle(part) ? wholeOf(part, stored) : [part]) }),
  }
}

/** Returns all parts of a message, including its text. See `A2aDetails`. */
export function withText<T>(body: string, a2a: string | null, parts: T[] | undefined): (T | { text: string })[] {
  return parts && hasTextInParts(a2a) ? parts : [{ text: body }, ...parts ?? []]
}

function wholeOf(handle: Handle, apart: Parts): Part[] {
  const stored = apart.get(handle.part_id)
  if (!stored) return []
  const { kind, filename, mediaType, metadata } = handle
  if (kind === 'part') return [JSON.parse(stored.content)]
  if (kind === 'parts') {
    return (JSON.parse(stored.content) as (Part | Handle)[]).flatMap((part) =>
      isHandle(part) ? wholeOf(part, apart) : [part]
    )
  }
  const content = kind === 'data' ? JSON.parse(stored.content) : stored.content
  const isUpload = stored.encoding === 'upload' && !stored.isUrl
  return [{
    [stored.isUrl ? 'url' : isUpload ? 'upload' : kind]: content,
    ...(isUpload && { bytes: stored.bytes }),
    ...(filename !== undefined && { filename }),
    ...(mediaType !== undefined && { mediaType }),
    ...(metadata && { metadata }),
  } as Part]
}

function isHandle(part: Part | Handle): part is Handle {
  return 'part_id' in part && 'kind' in part
}

function byTask<Row extends { taskId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>()
  for (const row of rows) {
    const ofTask = found.get(row.taskId)
    if (ofTask) ofTask.push(row)
    else found.set(row.taskId, [row])
  }
  return found
}

function lastOf<T>(list: T[], length: number | undefined): T[] {
  return length === undefined ? list : length === 0 ? [] : list.slice(-length)
}
