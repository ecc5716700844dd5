/** What the sender of a message is told. */
import { presenceWord } from '../../lib/presence.ts'
import { isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { SentMessage } from './outgoing-message.ts'
import { turnsNote } from './turns.ts'

/** Who is at the recipient, from memory. The receipt has nothing about agents of other accounts, nor of a channel. */
export function presenceAt(
  { waiting, deps: { now } }: AccountStore,
  agentId: string | undefined,
  { recipientUnread, recipientSeenAt = null }: SendReceipt,
): Pick<SentMessage, 'recipientPresence'> {
  if (agentId === undefined || recipientUnread === undefined) return {}
  return { recipientPresence: presenceWord(waiting.presence.at(agentId), recipientSeenAt, now()) }
}

/** A repeat has the receipt of the first send, and tells who is at the recipient now. */
export async function withPresence(account: AccountStore, sent: SentMessage): Promise<SentMessage> {
  if (sent.recipientUnread === undefined) return sent
  const agent = await account.read.agents.byAlias(sent.recipient.slice(1))
  return { ...sent, ...presenceAt(account, agent?.id, sent) }
}

/** A sent message as programs are answered, over MCP and REST. See docs/protocol.md, "send_message". */
export function asSentAnswer(sent: SentMessage) {
  return {
    message_id: sent.id,
    timestamp: isoTime(sent.createdAt),
    recipient: sent.recipient,
    unread: sent.unread,
    ...(sent.sanitized && { sanitized: true as const }),
    ...(sent.turns !== undefined && { turns: sent.turns, note: turnsNote(sent.turns) }),
    ...(sent.recipientUnread !== undefined && {
      recipient_presence: sent.recipientPresence,
      recipient_last_seen: sent.recipientSeenAt == null ? null : isoTime(sent.recipientSeenAt),
      recipient_unread: sent.recipientUnread,
    }),
    ...(sent.recipients !== undefined && {
      recipients: sent.recipients,
      recipients_active: sent.recipientsActive,
    }),
    ...(sent.leftOut !== undefined && { left_out: sent.leftOut }),
    ...(sent.redacted && { redacted: sent.redacted }),
    // It was the answer to this task, which is completed.
    ...(sent.taskId !== undefined && { task_id: sent.taskId }),
  }
}
