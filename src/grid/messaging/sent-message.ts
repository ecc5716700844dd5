/** What senders are told, also when they repeat a send. See docs/delivery.md, "Idempotency keys". */
import { GridError } from '../../errors.ts'
import { digestOf } from '../../lib/digest.ts'
import { presenceWord } from '../../presence.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import { day, isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { Draft, Sender, SendInput, SentMessage } from './outgoing-message.ts'
import type { BlockedError } from '../../store/account/verdicts.ts'
import { howToAnswer } from './inbox-message.ts'
import { turnsNote } from './turns.ts'

/** Who is at the recipient: clients from memory, and the server of a remote agent from the receipt. The receipt has nothing about agents of other accounts, nor of a channel. */
export function presenceAt(
  { waiting, deps: { now } }: AccountStore,
  agentId: string | undefined,
  { recipientUnread, recipientSeenAt = null, recipientRemote }: SendReceipt,
): Pick<SentMessage, 'recipientPresence'> {
  if (agentId === undefined || recipientUnread === undefined) return {}
  return { recipientPresence: presenceWord(waiting.presence.at(agentId) ?? recipientRemote, recipientSeenAt, now()) }
}

/** A repeat has the receipt of the first send, and tells who is at the recipient now. */
export async function withPresence(account: AccountStore, sent: SentMessage): Promise<SentMessage> {
  if (sent.recipientUnread === undefined) return sent
  const agent = await account.read.agents.byAlias(sent.recipient.slice(1))
  const recipientRemote = agent?.remote ? JSON.parse(agent.remote) : undefined
  return { ...sent, ...presenceAt(account, agent?.id, { ...sent, recipientRemote }) }
}

/** A sent message as programs are answered, over MCP and REST. See docs/protocol/mcp.md, "send_message". */
export function asSentAnswer(sent: SentMessage) {
  // What answers a task ends it, perhaps only when a person has approved it.
  const openTask = sent.taskId === undefined && !sent.held && sent.openTask || undefined
  const notes = notesOf(sent, openTask)
  return {
    message_id: sent.id,
    timestamp: isoTime(sent.createdAt),
    recipient: sent.recipient,
    unread: sent.unread,
    ...(sent.sanitized && { sanitized: true as const }),
    ...(sent.turns !== undefined && { turns: sent.turns }),
    ...(sent.recipientUnread !== undefined && {
      recipient_presence: sent.recipientPresence,
      recipient_last_seen: sent.recipientSeenAt == null ? null : isoTime(sent.recipientSeenAt),
      recipient_unread: sent.recipientUnread,
    }),
    ...(sent.recipientInbox && { recipient_inbox: sent.recipientInbox }),
    ...(sent.recipients !== undefined && {
      recipients: sent.recipients,
      recipients_active: sent.recipientsActive,
    }),
    ...(sent.leftOut !== undefined && { left_out: sent.leftOut }),
    ...(sent.redacted && { redacted: sent.redacted }),
    // It waits for the decision of a person, and its recipient does not have it yet.
    ...(sent.held && { held: { by: sent.held.by, until: isoTime(sent.held.until) } }),
    // It was the answer to this task, which is completed.
    ...(sent.taskId !== undefined && { task_id: sent.taskId }),
    ...(openTask && { open_task: openTask }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

/** What the sender is to know or to do, in sentences. */
function notesOf({ turns, recipient, recipientInbox }: SentMessage, openTask: string | undefined): string[] {
  const notes: string[] = []
  if (turns !== undefined) notes.push(turnsNote(turns))
  if (openTask !== undefined) notes.push(`Your task of ${recipient} is still open. ${howToAnswer}`)
  if (recipientInbox) {
    const { unread, max } = recipientInbox
    const state = unread >= max
      ? 'is full now, and refuses further messages'
      : `is ${Math.floor(unread / max * 100)} % full`
    notes.push(`The inbox of ${recipient} ${state}.`)
  }
  return notes
}

export const keyLifetimeMs = 7 * day
const maxKeyLength = 200

function checkKey(key: string): string {
  if (key === '' || !hasAtMost(key, maxKeyLength) || wellFormed(key) !== key) {
    throw new GridError('invalid_input', `An idempotency key must have 1 to ${maxKeyLength} characters.`)
  }
  return key
}

/** The key of a call and the hash of what a repeat must equal, if it has one. Fails with `invalid_input`. */
export function keyOf(key: string | undefined, request: () => string): Pick<Draft, 'key' | 'requestHash'> {
  return key === undefined ? { key: null, requestHash: '' } : { key: checkKey(key), requestHash: digestOf(request()) }
}

/** The send that was already made under its idempotency key. `home`: the account that the agent was in then, if another. */
export async function findRepeat(
  account: AccountStore,
  { agentId }: Sender,
  { key, requestHash }: Pick<Draft, 'key' | 'requestHash'>,
): Promise<{ sent: SentMessage; home?: string } | undefined> {
  if (key === null) return undefined
  const earlier = await account.read.messages.byKey(agentId, key, account.deps.now() - keyLifetimeMs)
  if (!earlier) return undefined
  const { requestHash: first, error, home, receipt, sanitized, ...sent } = earlier
  if (first !== requestHash) {
    throw new GridError(
      'idempotency_conflict',
      'This idempotency key was used for other content. Use a new key for new content.',
    )
  }
  if (error !== null) {
    const { message, info } = JSON.parse(error) as BlockedError
    throw new GridError('guardrail_blocked', message, { info })
  }
  // An update of a task has no receipt.
  const told: SendReceipt = JSON.parse(receipt ?? '{"unread":0}')
  return { sent: { ...sent, ...(sanitized && { sanitized }), ...told }, home: home ?? undefined }
}

/** What a repeat of a send must equal: what its caller says, or the content. */
export function requestOf(
  { to, text, replyToMessageId, conversationId, a2a, expiresInSeconds, request }: SendInput,
): string {
  const address = to.trim().toLowerCase().replace(/^@/, '')
  return request ?? JSON.stringify([address, text, replyToMessageId, conversationId, a2a, expiresInSeconds])
}
