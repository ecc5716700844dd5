/** Ends held messages that are not delivered: refused by a person, or expired. */
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { HeldToDecide } from '../../store/account/held.ts'
import type { Decided } from '../../store/account/held-changes.ts'

const expired = 'Nobody decided in time.'

/**
 * Records the decision. Notifies the sender by a system message, and in the task that the message began or continued.
 */
export async function endHeld(account: AccountStore, held: HeldToDecide, decided: Decided): Promise<void> {
  const { home, messageId, recipient, fromAgentId, later } = held
  const { at, reason, state } = decided
  const from = account.ofSender(held)
  // People of another account are not named.
  const who = home === account.owner ? decided.decider ?? 'The grid' : "A member of the recipient's account"
  const what = state === 'expired' ? reason : `${who} refused it: ${reason}`
  const text = `Your message to ${recipient} was not delivered. ${what}`
  const { tasks } = from.change
  const task = later.step ? null : later.taskId
  const change = task !== null && { task, event: newId(), at, state: 'rejected' as const, reason: text }
  await account.write([
    ...account.change.held.decide(held.id, decided),
    ...change ? tasks.change({ end: 'grid' }, change) : [],
    // The row's id is its idempotency key.
    ...from.change.held.notify(held.id, messageId, text, at),
    // The sender may be waiting for an answer.
    ...from.change.leases.takeAnswer({ id: held.id, at, replyToMessageId: messageId }, { agentId: fromAgentId }),
  ])
}

/** Refuses a message that expired before a decision. Does nothing if it was decided at the same time. */
export async function expireHeld(account: AccountStore, id: string): Promise<void> {
  const held = await account.read.held.byId(id, null)
  if (held?.state !== 'held') return
  const decided = { user: null, decider: null, reason: expired, edited: false }
  await endHeld(account, held, { ...decided, state: 'expired', at: account.deps.now() })
}
