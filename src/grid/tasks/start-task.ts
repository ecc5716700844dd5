/** A client's messages that start or continue a task. See docs/protocol/messages.md, "Tasks". */
import { digestOf } from '../../lib/digest.ts'
import { canonicalJson } from '../../lib/encoding.ts'
import { invalidInput } from '../../errors.ts'
import { isId, newId } from '../../lib/id.ts'
import { withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { NewPushConfig } from '../../store/account/push-configs.ts'
import type { TaskRow } from '../../store/account/tasks.ts'
import type { Statement } from '../../store/sql.ts'
import type { A2aDetails, Sender, SendInput, SentMessage, TaskStep } from '../message/outgoing-message.ts'
import { sendMessage } from '../messaging/send-message.ts'
import { findRepeat, keyOf, withPresence } from '../send/once.ts'
import { resolve } from '../send/resolve.ts'
import type { TaskMessage, TaskMode } from './task.ts'
import { newPushConfig, type PushConfigInput, requirePlaceFor } from './push-configs.ts'
import { isBareText, textOf } from '../message/part.ts'
import { clientOf, findTask, refuseEnded, refuseIfFull, taskNotFound } from './tasks.ts'

type ClientMessage = Omit<TaskMessage, 'role'>

interface NewTask {
  to: string
  message: ClientMessage
  /** The client's id of the context; by default, the server generates one. */
  contextId?: string
  /** `message` if the recipient replies with messages, otherwise `task`. */
  mode: TaskMode
  idempotencyKey?: string
  request?: string
  acceptedOutputModes?: string[]
  push?: PushConfigInput
}

interface TaskContinuation {
  taskId: string
  contextId?: string
  /** The endpoint's alias: tasks with any other recipient appear as missing. */
  recipient?: string
  message: ClientMessage
  idempotencyKey?: string
  request?: string
  push?: PushConfigInput
}

export interface SentTask {
  sent: SentMessage
  /** `home`: the client's earlier account, which the task belongs to. */
  task: Pick<TaskRow, 'id' | 'contextId' | 'mode'> & { home?: string }
  /** Set if the message repeats an earlier message of an open task and was therefore not sent. */
  isDuplicate?: true
}

const maxTaskMs = 7 * day
/** The text that a recipient reads if a message has only files or data. */
const noText = 'This message has no text. Its content is in a2a.parts.'

/** Sends a message that creates a task, in one unit. A retry returns the existing task. */
export async function startTask(account: AccountStore, sender: Sender, input: NewTask): Promise<SentTask> {
  const request = input.request ?? canonicalJson([input.to, input.message, input.contextId ?? null])
  const repeat = await repeatOf(account, sender, input.idempotencyKey, request)
  if (repeat) return repeat
  const { message, acceptedOutputModes } = input
  const { deps: { now }, read, change } = account
  const recipient = await resolve(account, sender, input.to)
  if (!recipient.inbox) throw invalidInput('A task needs an agent as its recipient.', 'to')
  const repeatHash = repeatHashOf(input.message, [recipient.id, input.contextId ?? null])
  const duplicate = await duplicateOf(account, sender, repeatHash, recipient.label)
  if (duplicate) return duplicate
  const mode = input.mode === 'message' && !recipient.messageReplies ? 'task' : input.mode
  const { agentId: recipientAgentId, home } = recipient.inbox
  const push = input.push && await newPushConfig(account, input.push)
  const known = input.contextId === undefined
    ? undefined
    : await read.tasks.conversation(sender.agentId, input.contextId, recipientAgentId)
  const conversationId = known ?? newId()
  const contextId = input.contextId ?? conversationId
  const waiting = known === undefined ? [] : await read.tasks.waitingForClient(sender.agentId, known)
  const id = newId()
  const changer = { end: 'client' as const, agent: sender.agentId }
  const step: TaskStep = {
    taskId: id,
    isInTaskAlone: false,
    statements(stored) {
      const task = {
        id,
        message: stored,
        home,
        recipientAgentId,
        recipientAlias: recipient.label.slice(1),
        conversationId,
        contextId,
        mode,
        expiresAt: now() + maxTaskMs,
        repeatHash,
      }
      return [
        change.tasks.keepContext(task),
        ...change.tasks.add(task),
        change.tasks.addMessage(changer, id, stored.id, 'user'),
        ...pushOf(account, sender, id, push, stored.at),
      ]
    },
  }
  const sent = await sendInTask(account, sender, message, {
    to: input.to,
    conversationId,
    idempotencyKey: input.idempotencyKey,
    request,
    task: step,
    contextId,
    acceptedOutputModes,
    waiting,
  })
  // Another send with the same key was stored concurrently.
  return { sent, task: sent.taskId === id ? { id, contextId, mode } : await taskOfRepeat(account, sender, sent) }
}

/** Sends a further message of a task to its recipient. A task that waits for its client continues. */
export async function continueTask(account: AccountStore, sender: Sender, input: TaskContinuation): Promise<SentTask> {
  const { taskId, message, recipient } = input
  const request = input.request ?? canonicalJson([taskId, message])
  const repeat = await repeatOf(account, sender, input.idempotencyKey, request)
  if (repeat) return repeat
  const task = await findTask(account, taskId, recipient)
  if (input.contextId !== undefined && input.contextId !== task.contextId) {
    throw invalidInput('message.contextId differs from the contextId of the task.', 'message.contextId')
  }
  refuseEnded(task)
  const repeatHash = repeatHashOf(message, [task.recipientAgentId, taskId])
  const duplicate = await duplicateOf(account, sender, repeatHash, `@${task.recipientAlias}`)
  if (duplicate) return duplicate
  refuseIfFull(task)
  const push = input.push && await newPushConfig(account, input.push)
  if (push) await requirePlaceFor(account, taskId, push)
  const { tasks } = account.change
  const changer = { end: 'client' as const, agent: sender.agentId }
  const step: TaskStep = {
    taskId,
    isInTaskAlone: false,
    check: async () => refuseEnded(await findTask(account, taskId, recipient)),
    open: (id) => tasks.requireOpen(changer, taskId, id),
    statements: ({ id, at }) => [
      // Registers the webhook first, so that it is notified of the message's own changes.
      ...pushOf(account, sender, taskId, push, at),
      tasks.addMessage(changer, taskId, id, 'user'),
      tasks.setRepeatHash(sender.agentId, taskId, id, repeatHash),
      ...tasks.change(changer, {
        task: taskId,
        event: id,
        at,
        state: 'working',
        from: ['input-required', 'auth-required'],
      }),
    ],
  }
  const { contextId, conversationId, recipientAlias } = task
  const sent = await sendInTask(account, sender, message, {
    to: `@${recipientAlias}`,
    conversationId,
    idempotencyKey: input.idempotencyKey,
    request,
    task: step,
    contextId,
  })
  return { sent, task }
}

function pushOf(
  account: AccountStore,
  { agentId }: Sender,
  taskId: string,
  push: NewPushConfig | undefined,
  at: number,
): Statement[] {
  return push ? [account.change.pushConfigs.put(agentId, taskId, push, at)] : []
}

/** Returns the send already made with this key, and its task. Fails with `idempotency_conflict`. */
async function repeatOf(
  account: AccountStore,
  sender: Sender,
  key: string | undefined,
  request: string,
): Promise<SentTask | undefined> {
  const repeat = await findRepeat(account, sender, keyOf(key, () => request))
  if (!repeat) return undefined
  const { sent, home } = repeat
  return { sent: await withPresence(account, sent), task: await taskOfRepeat(account, sender, sent, home) }
}

/** Identifies a client's retry after a lost response. Scripts use constant ids, so only a UUID counts. */
function repeatHashOf(message: ClientMessage, place: readonly (string | null)[]): string | null {
  return isId(message.messageId) ? digestOf(canonicalJson([withoutInvisibleIn(message), ...place])) : null
}

async function duplicateOf(
  account: AccountStore,
  { agentId }: Sender,
  repeatHash: string | null,
  recipient: string,
): Promise<SentTask | undefined> {
  if (repeatHash === null) return undefined
  const { tasks } = account.read
  const found = await tasks.repeated(agentId, repeatHash)
  const task = found && await tasks.of('client', agentId, found.id)
  if (!task) return undefined
  const { messageId: id, createdAt } = found
  const sent = { id, recipient, conversationId: task.conversationId, createdAt, hops: 0, unread: 0 }
  return { sent, task, isDuplicate: true }
}

async function taskOfRepeat(
  account: AccountStore,
  { agentId }: Sender,
  { id: messageId }: SentMessage,
  home?: string,
): Promise<SentTask['task']> {
  const { account: { read: { tasks } } } = clientOf(account, home)
  const id = await tasks.byMessage(agentId, messageId)
  const row = id === undefined ? undefined : await tasks.of('client', agentId, id)
  // The task's retention may have ended.
  if (!row) throw taskNotFound(messageId)
  return { ...row, home }
}

/** How a client's message is sent, and which details of the task its recipient gets. */
type SendInTask = Pick<SendInput, 'to' | 'conversationId' | 'idempotencyKey' | 'request'> & {
  task: TaskStep
  contextId: string
  acceptedOutputModes?: string[]
  waiting?: string[]
}

/** Sends a client's message. Its parts are stored if they are more than one text. */
async function sendInTask(
  account: AccountStore,
  sender: Sender,
  { messageId, parts, metadata, extensions, referenceTaskIds }: ClientMessage,
  { contextId, acceptedOutputModes, waiting = [], ...input }: SendInTask,
): Promise<SentMessage> {
  const a2a: A2aDetails = {
    messageId,
    contextId,
    taskId: input.task.taskId,
    parts: parts.length === 1 && parts.every(isBareText) ? undefined : parts,
    metadata,
    extensions,
    referenceTaskIds,
    acceptedOutputModes: acceptedOutputModes?.length ? acceptedOutputModes : undefined,
    waitingTaskIds: waiting.length > 0 ? waiting : undefined,
  }
  return await sendMessage(account, sender, { ...input, text: textOf(parts) || noText, a2a })
}
