/** Commits a message with its concerns' statements as one unit. */
import { GridError } from '../../errors.ts'
import { presenceWord } from '../../presence.ts'
import type { AccountStore } from '../../store/account.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { Send, SendPart, SentMessage } from '../message/outgoing-message.ts'
import { quotasOf } from '../message/quota.ts'

/** Stores a message. Resolves to undefined, and stores nothing, if a condition did not hold. */
export async function commit(
  { account, recipient, message }: Send,
  parts: readonly SendPart[],
): Promise<SentMessage | undefined> {
  const isAllOrNothing = parts.some(({ needsMessage }) => needsMessage)
  const unit = parts.flatMap(({ preconditions = [] }) => preconditions)
  const first = unit.length
  for (const { statements = [] } of parts) unit.push(...statements)
  if (isAllOrNothing) unit.push(account.change.messages.requireStored(message))
  unit.push(recipient.receipt(message, quotasOf(account, recipient.inbox)))

  const rows = await account.write(unit).catch((error) => {
    if (!isAllOrNothing || !(error instanceof GridError) || error.code !== 'write_conflict') throw error
  })
  const [last] = rows?.at(-1) ?? []
  if (!rows || !last) return undefined
  const receipt: SendReceipt = JSON.parse(String(last.receipt))
  const { id, conversationId, at: createdAt, hops, sanitized } = message
  const presence = presenceAt(account, recipient.inbox?.agentId, receipt)
  const sent: SentMessage = { id, recipient: recipient.label, conversationId, createdAt, hops, ...receipt, ...presence }
  if (sanitized) sent.sanitized = true
  let next = first
  for (const { statements = [], stored } of parts) {
    const end = next + statements.length
    if (stored) Object.assign(sent, await stored(rows.slice(next, end)))
    next = end
  }
  return sent
}

/**
 * Returns the recipient's presence: connected clients from memory, a remote agent's server from the receipt. Never set
 * for agents of other accounts or for channels.
 */
export function presenceAt(
  { waiting, deps: { now } }: AccountStore,
  agentId: string | undefined,
  { recipientUnread, recipientSeenAt = null, recipientRemote }: SendReceipt,
): Pick<SentMessage, 'recipientPresence'> {
  if (agentId === undefined || recipientUnread === undefined) return {}
  return { recipientPresence: presenceWord(waiting.presence.at(agentId) ?? recipientRemote, recipientSeenAt, now()) }
}
