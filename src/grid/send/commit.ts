/** Committing a message with what its concerns add, as one unit. */
import { GridError } from '../../errors.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { Send, SendPart, SentMessage } from '../messaging/outgoing-message.ts'
import { quotasOf } from '../messaging/quota.ts'
import { presenceAt } from './presence.ts'

/** Undefined if a condition did not hold: then nothing is stored. */
export async function commit(
  { account, recipient, message }: Send,
  planned: readonly (SendPart | undefined)[],
): Promise<SentMessage | undefined> {
  const parts = planned.filter((part) => part !== undefined)
  const isAllOrNothing = parts.some(({ needsMessage }) => needsMessage)
  const unit = parts.flatMap(({ preconditions = [] }) => preconditions)
  const first = unit.length
  for (const { statements = [] } of parts) unit.push(...statements)
  if (isAllOrNothing) unit.push(account.change.messages.requireStored(message))
  unit.push(recipient.receipt(message, quotasOf(account, recipient.inbox)))

  const rows = await account.write(unit).catch((error) => {
    if (!isAllOrNothing || !(error instanceof GridError) || error.code !== 'write_conflict') throw error
  })
  const [told] = rows?.at(-1) ?? []
  if (!rows || !told) return undefined
  const receipt: SendReceipt = JSON.parse(String(told.receipt))
  const { id, conversationId, at: createdAt, hops, sanitized } = message
  const sent: SentMessage = { id, recipient: recipient.label, conversationId, createdAt, hops, ...receipt }
  if (sanitized) sent.sanitized = true
  Object.assign(sent, presenceAt(account, recipient.inbox?.agentId, receipt))
  let next = first
  for (const { statements = [], stored } of parts) {
    const end = next + statements.length
    if (stored) Object.assign(sent, await stored(rows.slice(next, end)))
    next = end
  }
  return sent
}
