/**
 * `message/send` and `message/stream` of A2A 0.3, `SendMessage` and `SendStreamingMessage` of 1.0.
 * See docs/protocol/a2a.md, "Fields of a send", "Confirmation or task".
 */
import { roomOf } from '../answers/room.ts'
import { type AgentActor, callingAgent } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import type { SentMessage } from '../grid/message/outgoing-message.ts'
import { resolve } from '../grid/send/resolve.ts'
import { turnsNote } from '../grid/messaging/turns.ts'
import { continueTask, type SentTask, startTask } from '../grid/tasks/start-task.ts'
import { bareReply, type TaskMode } from '../grid/tasks/task.ts'
import { findTask, getTask, showIfOpen } from '../grid/tasks/tasks.ts'
import { requireTaskStream, waitForTask, watchTask } from '../grid/tasks/watch-task.ts'
import { canonicalJson } from '../lib/encoding.ts'
import { withoutInvisibleIn } from '../lib/invisible-text.ts'
import { isoTime, second } from '../lib/time.ts'
import { type ClientMessage, readSend as readRequest, type SendRequest, writeReply, writeSentTask } from './codec.ts'
import { extensionUri, maxWaitSeconds } from './extensions.ts'
import { endpointAlias, recipientOf, withoutRouting } from './grid-routing.ts'
import { EventStream, type MethodCall, type StreamItem } from './method-call.ts'
import { heartbeatMs, taskItems } from './task-stream.ts'

/**
 * Delivers a message to the agent that it names. Returns a receipt immediately, or waits for the recipient and returns
 * the task. Fails with `invalid_input`, `recipient_required`, `recipient_not_found`, `task_not_found`,
 * `unsupported_operation`, `no_text_content`, or like `sendMessage`. See docs/protocol/a2a.md, "Errors".
 */
export async function messageSend(call: MethodCall): Promise<unknown> {
  const send = await readSend(call)
  const sent = await deliver(call, send)
  const { account, codec, connection } = call
  if (send.mode === 'receipt') return receiptOf(call, sent)
  const { id, home } = sent.task
  // A client that a claim has moved may retry a send from its old account. That task has ended, so there is no wait.
  if (!send.returnsImmediately && home === undefined) await waitForAnswer(call, id)
  const { historyLength } = send.request.configuration
  const task = await getTask(account, id, { home, historyLength, room: roomOf(account, connection), waits: true })
  const reply = bareReply(task)
  const metadata = sent.isDuplicate && { duplicate: true }
  return reply ? writeReply(task, { ...reply, metadata }, codec) : writeSentTask(task, codec, metadata)
}

/** Streams either the receipt, or the task and its events. Fails like `messageSend`, or with `rate_limit_exceeded`. */
export async function messageStream(call: MethodCall): Promise<EventStream> {
  const send = await readSend(call)
  if (send.mode !== 'receipt') requireTaskStream(call.account)
  const sent = await deliver(call, send)
  if (send.mode === 'receipt') return new EventStream(oneItem({ result: receiptOf(call, sent) }))
  const { account, connection, check } = call
  const { id, contextId, home } = sent.task
  const { historyLength } = send.request.configuration
  const watch = { home, historyLength, replyMs: waitMsOf(call), isOfSend: true, caller: connection, check, heartbeatMs }
  const news = watchTask(account, id, watch)
  // Read immediately, so that the stream starts with the task as it was sent.
  const first = (await news.next()).value
  return new EventStream(taskItems(call, { id, contextId }, first, news, { isOfSend: true }))
}

interface Send {
  request: SendRequest
  sender: AgentActor
  /** The recipient's alias. Undefined for a follow-up message of a task. */
  to: string | undefined
  /**
   * `receipt` responds with a confirmation. `message` responds with a plain reply if the recipient is configured for
   * it.
   */
  mode: TaskMode
  returnsImmediately: boolean
}

async function readSend(call: MethodCall): Promise<Send> {
  const { account, codec, params, aliases, extensions } = call
  const { config } = account.deps
  const request = readRequest(params, codec)
  const { message, configuration } = request
  const sender = callingAgent(account.actor)
  const to = recipientOf(request, extensionUri(config, 'grid-routing'), aliases)
  if (to === undefined && message.taskId === undefined) throw recipientRequired()

  const isShared = endpointAlias(aliases, request.tenant) === undefined
  const error = contentError(request, isShared)
  if (to !== undefined && (error || message.taskId !== undefined)) {
    // An unknown recipient is reported before a content error and before an unknown task.
    await resolve(account, sender, `@${to}`)
  }
  if (error && message.taskId !== undefined) await findTask(account, message.taskId, to)
  if (error) throw error

  const { returnImmediately, push } = configuration
  const mayBeNoTask = message.taskId === undefined && returnImmediately !== true
  const isPlain = isShared && mayBeNoTask && !extensions.includes(extensionUri(config, 'await-reply'))
  // Push notifications refer to a task, so the client gets the task.
  const isReceipt = isPlain && !push
  const mayBeMessage = !isShared && mayBeNoTask && !push
  const mode = isReceipt ? 'receipt' : mayBeMessage ? 'message' : 'task'
  return { request, sender, to, mode, returnsImmediately: returnImmediately === true || isPlain }
}

async function deliver(call: MethodCall, { request, sender, to, mode }: Send): Promise<SentTask> {
  const { account } = call
  const { message, configuration: { acceptedOutputModes, push } } = request
  const { config } = account.deps
  const idempotencyKey = call.idempotencyKey ??
    (call.extensions.includes(extensionUri(config, 'idempotency')) ? message.messageId : undefined)
  const common = {
    contextId: message.contextId,
    message: messageOf(message, extensionUri(config, 'grid-routing')),
    idempotencyKey,
    request: idempotencyKey === undefined ? undefined : requestOf(call),
    acceptedOutputModes,
    push,
  }
  if (message.taskId !== undefined) {
    return await continueTask(account, sender, { ...common, taskId: message.taskId, recipient: to })
  }
  // The `@` prevents an input from naming a channel.
  return await startTask(account, sender, { ...common, to: `@${to}`, mode })
}

/** Returns what must be equal when an idempotency key is reused: method, params, and the aliases in the path. */
function requestOf({ method, params, aliases }: MethodCall): string {
  return canonicalJson([method, withoutInvisibleIn(params), ...aliases])
}

function messageOf(message: ClientMessage, routingUri: string) {
  const { messageId, parts, metadata, extensions, referenceTaskIds } = message
  const others = extensions?.filter((uri) => uri !== routingUri)
  return {
    messageId,
    parts,
    metadata: withoutRouting(metadata, routingUri),
    extensions: others?.length ? others : undefined,
    referenceTaskIds,
  }
}

/**
 * Resolves once the recipient has answered or the wait has timed out. See docs/protocol/a2a.md, "Confirmation or task".
 */
async function waitForAnswer(call: MethodCall, id: string): Promise<void> {
  const { account, connection, check } = call
  await waitForTask(account, id, { ms: waitMsOf(call), caller: connection, check })
  if (!connection.signal.aborted) await showIfOpen(account, id)
}

function waitMsOf({ waitSeconds }: MethodCall): number {
  return Math.min(maxWaitSeconds, waitSeconds ?? Infinity) * second
}

function receiptOf({ account, codec }: MethodCall, { sent, task, isDuplicate }: SentTask): unknown {
  const isPlain = account.deps.config.a2aPlainReceipts
  const { held, recipient } = sent
  const what = held ? `Message held until ${isoTime(held.until)} for approval, for` : 'Message delivered to'
  const text = `${what} ${recipient}${changesOf(sent)}`
  const metadata = isPlain ? undefined : isDuplicate ? { duplicate: true } : receiptMetadata(sent)
  return writeReply(isPlain ? {} : task, { messageId: sent.id, role: 'agent', parts: [{ text }], metadata }, codec)
}

async function* oneItem(item: StreamItem): AsyncGenerator<StreamItem> {
  yield item
}

/** Describes how the delivered message differs from the sent one. */
function changesOf({ sanitized, redacted }: SentMessage): string {
  const cleaned = sanitized ? ', without its invisible characters' : ''
  return redacted ? `${cleaned}, with masked texts (${redacted.join(', ')})` : cleaned
}

function receiptMetadata(
  { recipientPresence: presence, sanitized, redacted, held, hops, turns }: SentMessage,
): Record<string, unknown> | undefined {
  const metadata = {
    ...(presence !== undefined && { recipientPresence: presence }),
    ...(sanitized && { sanitized }),
    ...(redacted && { redacted }),
    ...(held && { held: { by: held.by, until: isoTime(held.until) } }),
    ...(hops > 0 && { hops }),
    ...(turns !== undefined && { turns, note: turnsNote(turns) }),
  }
  return Object.keys(metadata).length > 0 ? metadata : undefined
}

/** Returns the error for missing content. The shared endpoint needs text, an agent's endpoint text, files or data. */
function contentError({ message }: SendRequest, isShared: boolean): GridError | undefined {
  const hasContent = message.parts.some((part) => 'text' in part ? part.text !== '' : !isShared)
  if (!hasContent) {
    return new GridError('no_text_content', 'No text content in message parts', { field: 'message.parts' })
  }
  return undefined
}

function recipientRequired(): GridError {
  return new GridError('recipient_required', "Missing 'to' in message.metadata - specify the recipient @alias", {
    field: 'message.metadata.to',
  })
}
