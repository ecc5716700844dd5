/** Sends requests to remote agents over A2A, with the official client. See docs/protocol/a2a.md, "Remote agents". */
import { textOf } from '../lib/text.ts'
import { canonicalBase64 } from '../lib/encoding.ts'
import { parseAnswer } from '../lib/http/body.ts'
import { withoutInvisible } from '../lib/invisible-text.ts'
import { RemoteError } from '../lib/outbound/remote-error.ts'
import { minute, second } from '../lib/time.ts'
import { a2aSdk, type RemoteAddress, type RemoteCard } from './card.ts'
import { RemoteRefusal } from './refusal.ts'
import type { SafeStream } from '../lib/outbound/safe-stream.ts'
import { printableLine } from '../lib/redact.ts'

export interface RemoteMessage {
  messageId: string
  /** A2A parts in 1.0 format. */
  parts: unknown[]
  contextId?: string
  /** The task that is waiting for this input. */
  taskId?: string
  metadata?: Record<string, unknown>
}

/** Where an agent may push a task's events, and the token that it must send there. */
export interface Callback {
  url: string
  token: string
}

/** A remote agent's answer to a message. `taskId` is undefined if it answered without a task. */
export interface RemoteAnswer {
  state: 'working' | 'input-required' | 'completed' | 'failed' | 'rejected' | 'canceled'
  taskId?: string
  contextId?: string
  /** The answer, question or reason, as parts in 1.0 format. */
  parts: Record<string, unknown>[]
}

/** Default time limits for sending a message and for querying a task. */
const sendTimeoutMs = 10 * minute
const lookTimeoutMs = 30 * second
/** Limits that the official client lacks. Parsed JSON can take a hundred times as much memory as its text. */
const answerLimits = { maxBytes: 4 * 1024 * 1024, maxDepth: 32, maxTokens: 20_000 }
/** Maximum length of a task or context id. */
const maxIdLength = 256

/** Sends a message. A retry must use the same id, idempotency key and callback. The agent has `answerMs` to answer. */
export async function sendToRemote(
  stream: SafeStream,
  address: RemoteAddress,
  card: RemoteCard,
  message: RemoteMessage,
  { callback, answerMs = sendTimeoutMs }: { callback?: Callback; answerMs?: number } = {},
): Promise<RemoteAnswer> {
  const more = { timeoutMs: answerMs, headers: { 'Idempotency-Key': message.messageId } }
  const send = (push: object) =>
    request(stream, address, card, more, async (client, options) => {
      const { SendMessageRequest } = await a2aSdk()
      const sent = SendMessageRequest.fromJSON({
        message: { ...message, role: 'ROLE_USER' },
        configuration: { returnImmediately: true, ...push },
      })
      return await client.sendMessage(sent, options)
    })
  if (!card.pushes || !callback) return await send({})
  const { url, token } = callback
  const authentication = { scheme: 'Bearer', credentials: token }
  try {
    return await send({ taskPushNotificationConfig: { url, token, authentication } })
  } catch (error) {
    // The agent may have refused only the callback, because some servers do not call every address. Retries without it.
    if (!(error instanceof RemoteRefusal)) throw error
    return await send({})
  }
}

/** Queries the state of a task. */
export async function lookAtTask(
  stream: SafeStream,
  address: RemoteAddress,
  card: RemoteCard,
  taskId: string,
): Promise<RemoteAnswer> {
  const answer = await request(stream, address, card, { timeoutMs: lookTimeoutMs }, async (client, options) => {
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
  { name, endpoint, wants }: RemoteCard,
  more: { timeoutMs: number; headers?: Record<string, string> },
  send: (client: Client, options: Options) => Promise<Result>,
): Promise<RemoteAnswer> {
  const { AgentCard, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await a2aSdk()
  const outcome: { status?: number } = {}
  const options = { fetchImpl: fetchOf(stream, address, more, outcome), legacyCompat: { enabled: true } }
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
    const answer = await answerOf(await send(await factory.createFromAgentCard(card), {}))
    if (![answer.taskId, answer.contextId].every(isId)) throw useless('An id is too long')
    return answer
  } catch (error) {
    throw asFailure(error, outcome.status, wants)
  }
}

/** Returns the client's `fetch`. It sends requests only through `stream`, and the token only to the agent's origin. */
function fetchOf(
  stream: SafeStream,
  { url, token }: RemoteAddress,
  { timeoutMs, headers: more }: { timeoutMs: number; headers?: Record<string, string> },
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
      maxBytes: answerLimits.maxBytes,
    })
    outcome.status = response.status
    const text = await response.text()
    const { status, headers: given } = response
    let answer: ReturnType<typeof parseAnswer>
    try {
      answer = parseAnswer(text, answerLimits)
    } catch {
      // The content of an error response is ignored.
      if (!response.ok) return new Response(null, { status, headers: given })
      throw useless('It is not JSON, or is too large')
    }
    requireBytes(answer.value, '')
    return new Response(answer.text, { status, headers: given })
  }
}

/** Rejects parts whose bytes are not base64, because the official client would silently drop some of them. */
function requireBytes(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : `${path && `${path}.`}${name}`
    if ((name === 'raw' || name === 'bytes') && typeof member === 'string' && canonicalBase64(member) === undefined) {
      throw new RemoteRefusal(`It answered with a file that is not base64: ${at}.`)
    }
    // These members contain arbitrary JSON.
    if (name !== 'data' && name !== 'metadata') requireBytes(member, at)
  }
}

const waiting = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']
const unsuccessful: Record<string, RemoteAnswer['state'] | undefined> = {
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_CANCELED: 'canceled',
}

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
  const ended = unsuccessful[state]
  if (ended) return { state: ended, ...task, parts: said }
  if (state !== 'TASK_STATE_COMPLETED') return { state: 'working', ...task, parts: [] }
  const made = artifacts.flatMap(({ parts = [] }) => joinedText(parts))
  return { state: 'completed', ...task, parts: made.length > 0 ? made : said }
}

function isId(id: string | undefined): boolean {
  return id === undefined || (id.length <= maxIdLength && id === withoutInvisible(id) && !id.includes('\0'))
}

/** Joins adjacent texts, because an artifact sent in chunks has a part for each chunk. */
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

/** Statuses of temporary refusals, after which the request is retried. */
const temporary = [408, 425, 429]
const internalError = -32603

/** Creates the error for a complete, successful response that cannot be used. A retry is unlikely to help. */
function useless(detail: string): RemoteError {
  return Object.assign(new RemoteError('invalid_response', detail), { unanswered: 'useless' })
}

/** Converts an error to a `RemoteRefusal`, or to a `RemoteError`, after which the request is retried. */
function asFailure(error: unknown, status = 0, wants: readonly string[] = []): unknown {
  if (error instanceof RemoteRefusal) return error
  if (error instanceof RemoteError) {
    if (error.reason === 'timeout' && error.isSent) error.unanswered = 'timeout'
    if (error.reason === 'too_large' && isGood(error.status)) error.unanswered = 'useless'
    return error
  }
  const { envelopeCode, message } = Object(error) as { envelopeCode?: unknown; message?: unknown }
  const said = printableLine(textOf(message ?? ''), 200)
  const isRefused = status >= 400 && status < 500 && !temporary.includes(status)
  if (typeof envelopeCode === 'number' ? envelopeCode !== internalError : isRefused) {
    const hint = status === 401 && wants.length > 0 ? ` Its card wants ${wants.join(' or ')}.` : ''
    return isRefused
      ? new RemoteRefusal(`It answered ${status}.${hint}`)
      : new RemoteRefusal('It refused the request.', said)
  }
  const detail = `${status} ${said}`
  // JSON-RPC internal errors also have a success status, but are retried.
  return isGood(status) && envelopeCode === undefined ? useless(detail) : new RemoteError('invalid_response', detail)
}

function isGood(status = 0): boolean {
  return status >= 200 && status < 300
}
