/** Acks the messages that a send answers, in the unit that stores it. See docs/delivery.md, "Leases of runners". */
import { type Actor, callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { isOwnId, newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Concern, LeasePart } from '../message/outgoing-message.ts'

export const acks: Concern = {
  plan({ account, input, message: { id, at } }) {
    const answered = input.acks
    if (!answered) return undefined
    const { timedLeases } = account.change
    const leased = leasedBy(account.actor, answered)
    const { move, close, left } = timedLeases.ack(leased, newId(), at)
    return {
      preconditions: [timedLeases.requireHeld(leased, id, at)],
      statements: [move, close, left],
      needsMessage: true,
      explain: () => requireHeld(account, answered),
      stored: ([, , [{ at: until }]]) => leaseLeft(account, until),
    }
  },
}

/** Acks the messages that a retried send answers, unless the first send did so. */
export async function ackAgain(account: AccountStore, part: LeasePart): Promise<void> {
  const { move, close } = account.change.timedLeases.ack(leasedBy(account.actor, part), newId(), account.deps.now())
  await account.write([move, close])
}

/** Fails with `stale_lease` or `lease_not_found` unless the lease is open and contains these messages. */
export async function requireHeld(account: AccountStore, { leaseId, messageIds }: LeasePart): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  const { deps, read: { timedLeases } } = account
  const at = deps.now()
  const isHeld = messageIds
    ? isSubset(messageIds, await timedLeases.messageIds(agentId, leaseId, at))
    : await timedLeases.isOpen(agentId, leaseId, at)
  if (!isHeld) {
    throw await noLease(account, leaseId, messageIds && 'This lease has ended, or it does not contain these messages.')
  }
}

function isSubset(ids: readonly string[], of: readonly string[]): boolean {
  const found = new Set(of)
  return found.size > 0 && ids.every((id) => found.has(id.toLowerCase()))
}

export function leasedBy(actor: Actor, { leaseId, messageIds }: LeasePart) {
  return {
    agent: callingAgent(actor).agentId,
    lease: leaseId,
    messages: messageIds?.map((id) => id.toLowerCase()),
  }
}

/** Updates the presence after a lease of the calling agent ended: other leases may show that a runner still works. */
export async function leaseChanged(account: AccountStore): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  leaseLeft(account, await account.read.timedLeases.lastExpiry(agentId, account.deps.now()))
}

/** Updates the presence. `until` is when the last remaining lease expires, by the database's clock. */
export function leaseLeft({ actor, waiting: { presence } }: AccountStore, until: unknown): void {
  const { agentId } = callingAgent(actor)
  if (until === null) presence.leaseEnded(agentId)
  else presence.leased(agentId, Number(until))
}

/**
 * Returns `stale_lease`, or `lease_not_found` if the text cannot be a lease id. Another agent's lease looks like one
 * that has ended.
 */
export async function noLease(
  { actor, read }: AccountStore,
  leaseId: string,
  message = 'This lease has ended: it expired, or it was acknowledged or released.',
): Promise<GridError> {
  const use = 'Use the lease_id that was returned with the messages.'
  if (!isOwnId(leaseId)) return new GridError('lease_not_found', `No lease with this id ever existed. ${use}`)
  if (await read.inbox.received(callingAgent(actor).agentId, leaseId.toLowerCase())) {
    return new GridError('lease_not_found', `This is the id of a message, not of a lease. ${use}`)
  }
  return new GridError('stale_lease', `${message} Its messages may be with another reader now, so nothing was done.`)
}
