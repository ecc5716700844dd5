/** Ending a lease: its messages arrived, or they did not. See docs/delivery.md, "Leases". */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError, isStorageFull } from '../../errors.ts'
import { minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { NewLease } from '../../store/account/leases.ts'

/** How late a database may carry out a claim whose answer was lost. */
const lateClaimMs = 5 * minute

/** A message that cannot be shown, and why. */
export interface DamagedMessage {
  message: InboxMessage
  error: unknown
}

/** A lease of the calling agent, for the code that sends the response. Call `ack` or `release`. Neither fails. */
export interface Lease {
  readonly id: string
  /** The messages arrived: they are not redelivered. Costs no commit. */
  ack(): void
  /** The messages did not arrive: they are unread again, and are redelivered. */
  release(): Promise<void>
}

/** The lease with this id, of the calling agent. */
export function leaseOf(account: AccountStore, leaseId: string): Lease {
  return {
    id: leaseId,
    ack: () => ackLease(account, leaseId),
    release: () => release(account, callingAgent(account.actor).agentId, leaseId),
  }
}

/** End a lease whose messages arrived. */
export function ackLease(account: AccountStore, leaseId: string): void {
  account.writeLater([account.change.leases.ack(leaseId)])
}

/**
 * Throw the error of a failed leasing. If the outcome is unknown, the database may have made the lease, so it is
 * released once the database answers again, and not made after that.
 */
export function releaseUnknown(account: AccountStore, lease: NewLease, error: unknown): never {
  if (!(error instanceof GridError) || !error.details.notExecuted) {
    const at = account.deps.now()
    account.writeLater(account.change.leases.giveUp({ ...lease, at, expiresAt: at + lateClaimMs }))
  }
  throw error
}

/** Release a lease that has expired or whose holder is gone. Fails with `wrong_credential`. */
export async function releaseAbandoned(account: AccountStore, agentId: string, leaseId: string): Promise<void> {
  requireAdmin(account.actor)
  await release(account, agentId, leaseId)
}

/** Park leased messages that cannot be shown. If they were released, they would be redelivered forever. Never fails. */
export async function parkDamaged(account: AccountStore, leaseId: string, damaged: DamagedMessage[]): Promise<void> {
  const { actor, deps: { log, now }, change } = account
  for (const { message, error } of damaged) {
    // The text of the error may quote the message.
    const fault = error instanceof Error ? error.name : typeof error
    log.error('A message that cannot be shown is parked', { messageId: message.id, fault })
  }
  const seqs = damaged.map(({ message }) => message.seq)
  try {
    await account.write([change.leases.parkLeased(callingAgent(actor).agentId, leaseId, seqs, now())])
  } catch (error) {
    // The message counts as read. Reading again leaves it out, too.
    log.warn('A message that cannot be shown was not parked', { error })
  }
}

/** Release a lease. If the database does not accept that, it is written later, at the latest by the next process that starts. */
export async function release(account: AccountStore, agentId: string, leaseId: string): Promise<void> {
  const { change, deps: { log, now }, waiting } = account
  const statements = change.leases.release(agentId, leaseId, now())
  try {
    await account.write(statements)
    waiting.notifier.notify([agentId])
  } catch (error) {
    if (!isStorageFull(error)) log.warn('A lease will be released later', { error, leaseId })
    account.writeLater(statements)
  }
}
