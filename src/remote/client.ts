/** Requests to remote agents over A2A, by the official client. See docs/protocol/a2a.md, "Remote agents". */
import { withoutInvisible } from '../lib/invisible-text.ts'
import { RemoteError } from '../lib/outbound/remote-error.ts'
import { second } from '../lib/time.ts'
import { a2aSdk, type RemoteAddress, type RemoteCard } from './card.ts'
import { RemoteRefusal } from './refusal.ts'
import type { SafeStream } from '../lib/outbound/safe-stream.ts'

export interface RemoteMessage {
  messageId: string
  /** A2A parts in 1.0 form. */
  parts: unknown[]
  contextId?: string
  /** The task that waits for this input. */
  taskId?: string
  metadata?: Record<string, unknown>
}

/** What a remote agent says about a message. `taskId` is absent when it answered without a task. */
export interface RemoteAnswer {
  state: 'working' | 'input-required' | 'completed' | 'failed'
  taskId?: string
  contextId?: string
  /** The answer, the question or the reason, in 1.0 form. */
  parts: Record<string, unknown>[]
}

const timeoutMs = 30 * second
const maxAnswerBytes = 12 * 1024 * 1024

/** Send a message. The same message may be sent again: its id and idempotency key stay the same. */
export async function sendToRemote(
  stream: SafeStream,
  address: RemoteAddress,
  card: RemoteCard,
  message: RemoteMessage,
): Promise<RemoteAnswer> {
  return await request(stream, address, card, { 'Idempotency-Key': message.messageId }, async (client, options) => {
    const { SendMessageRequest } = await a2aSdk()
    const sent = SendMessageRequest.fromJSON({
      message: { ...message, role: 'ROLE_USER' },
      configuration: { returnImmediately: true },
    })
    return await client.sendMessage(sent, options)
  })
}

/** Ask what became of a task. */
export async function lookAtTask(
  stream: SafeStream,
  address: RemoteAddress,
  card: RemoteCard,
  taskId: string,
): Promise<RemoteAnswer> {
  const answer = await request(stream, address, card, {}, async (client, options) => {
    const { GetTaskRequest } = await a2aSdk()
    return await client.getTask(GetTaskRequest.fromJSON({ id: taskId, historyLength: 0 }), options)
  })
  if (answer.taskId !== taskId) throw new RemoteError('invalid_response', 'It is about another task')
  return answer
}

type Sdk = Awaited<ReturnType<typeof a2aSdk>>
type Client = Awaited<ReturnType<Sdk['ClientFactory']['prototype']['createFromAgentCard']>>
type Options = NonNullable<Parameters<Client['getTask']>[1]>
type Result = Awaited<ReturnType<Client['sendMessage']>>

async function request(
  stream: SafeStream,
  address: RemoteAddress,
  { name, endpoint }: RemoteCard,
  headers: Record<string, string>,
  send: (client: Client, options: Options) => Promise<Result>,
): Promise<RemoteAnswer> {
  const { AgentCard, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await a2aSdk()
  const outcome: { status?: number } = {}
  const options = { fetchImpl: fetchOf(stream, address, headers, outcome), legacyCompat: { enabled: true } }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    clientConfig: { polling: true },
  })
  const { url, binding, version, tenant = '' } = endpoint
  const card = AgentCard.fromJSON({
    name,
    capabilities: {},
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: version, tenant }],
  })
  try {
    return await answerOf(await send(await factory.createFromAgentCard(card), {}))
  } catch (error) {
    throw asFailure(error, outcome.status)
  }
}

/** The `fetch` of the client: only through `stream`, and with the token only to the origin of the agent. */
function fetchOf(
  stream: SafeStream,
  { url, token }: RemoteAddress,
  more: Record<string, string>,
  outcome: { status?: number },
): typeof fetch {
  return async (input, init = {}) => {
    const target = String(input)
    const { 'content-type': contentType, ...headers } = Object.fromEntries(new Headers(init.headers))
    const isOwn = new URL(target).origin === new URL(url).origin
    const response = await stream(target, {
      method: init.method ?? 'GET',
      ...(init.body != null && { body: String(init.body) }),
      contentType,
      headers: { ...headers, ...more, ...(token !== undefined && isOwn && { authorization: `Bearer ${token}` }) },
      timeoutMs,
      maxBytes: maxAnswerBytes,
    })
    outcome.status = response.status
    return response
  }
}

const waiting = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']
const unsuccessful = ['TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED']

interface MessageJson {
  parts?: Record<string, unknown>[]
  contextId?: string
}

interface TaskJson {
  id: string
  contextId?: string
  status?: { state?: string; message?: MessageJson }
  artifacts?: { parts?: Record<string, unknown>[] }[]
}

async function answerOf(result: Result): Promise<RemoteAnswer> {
  const { Message, Task } = await a2aSdk()
  if (!('status' in result)) {
    const { parts = [], contextId } = Message.toJSON(result) as MessageJson
    return { state: 'completed', contextId, parts }
  }
  const { id, contextId, status, artifacts = [] } = Task.toJSON(result) as TaskJson
  const said = status?.message?.parts ?? []
  const task = { taskId: id, contextId }
  const state = status?.state ?? ''
  if (waiting.includes(state)) return { state: 'input-required', ...task, parts: said }
  if (unsuccessful.includes(state)) return { state: 'failed', ...task, parts: said }
  if (state !== 'TASK_STATE_COMPLETED') return { state: 'working', ...task, parts: [] }
  const made = artifacts.flatMap(({ parts = [] }) => joinedText(parts))
  return { state: 'completed', ...task, parts: made.length > 0 ? made : said }
}

/** An artifact that was sent in chunks has a part for each of them. */
function joinedText(parts: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const joined: Record<string, unknown>[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (last && isOnlyText(last) && isOnlyText(part)) last.text = `${last.text}${part.text}`
    else joined.push({ ...part })
  }
  return joined
}

function isOnlyText(part: Record<string, unknown>): boolean {
  return typeof part.text === 'string' && Object.values(part).filter(Boolean).length <= 1
}

/** Temporary refusals: the request is repeated. */
const temporary = [408, 425, 429]
const internalError = -32603

/** A `RemoteRefusal`, or the error as it is, after which the request is repeated. */
function asFailure(error: unknown, status = 0): unknown {
  if (error instanceof RemoteError) return error
  const { envelopeCode, message } = Object(error) as { envelopeCode?: unknown; message?: unknown }
  const said = withoutInvisible(String(message ?? '')).replace(/\s+/g, ' ').slice(0, 200)
  const isRefused = status >= 400 && status < 500 && !temporary.includes(status)
  if (typeof envelopeCode === 'number' ? envelopeCode !== internalError : isRefused) {
    return new RemoteRefusal(`It answered ${isRefused ? status : `"${said}"`}.`)
  }
  return new RemoteError('invalid_response', `${status} ${said}`)
}
