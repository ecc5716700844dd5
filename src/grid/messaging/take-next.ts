/** Sends a message and leases the next ones in one call. See docs/protocol/rest.md, "Messages". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { budgetOf } from './inbox-message.ts'
import type { Sender, SendInput, SendPart, SentMessage } from '../message/outgoing-message.ts'
import { claimed, type PlannedClaim, releaseUnknown } from './read-messages.ts'
import { sendMessage } from './send-message.ts'
import { leasedUntil, type LeaseInput, planLease, type TimedLease, waitForLease } from './timed-leases.ts'
import type { WaitOptions } from './wait-for-messages.ts'

/**
 * Sends like `sendMessage`, and leases the next messages, in the message's unit if some are unread; otherwise `next`
 * waits for them. A retry with the same idempotency key gets the first call's lease while it is open. Errors of `next`
 * do not fail the send, because the message is already stored.
 */
export async function sendAndTakeNext(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  leaseInput: LeaseInput,
): Promise<{ sent: SentMessage; next(wait: WaitOptions): Promise<TimedLease> }> {
  const lease = { ...leaseInput, key: input.idempotencyKey }
  // An error here recurs after the commit and is reported there.
  const planning = planLease(account, lease).catch(() => undefined)
  let planned: PlannedClaim | undefined
  let taken: TimedLease | undefined
  const concern = {
    async plan() {
      planned = await planning
      return planned && leasePart(account, lease, planned, (lease) => taken = lease)
    },
  }
  const sent = await sendMessage(account, sender, { ...input, concern }).catch((error) => {
    // With an idempotency key, the lease is kept, because a retry of the send gets it.
    if (planned && lease.key === undefined && isOutcomeUnknown(error)) releaseUnknown(account, planned.lease, error)
    throw error
  })
  return {
    sent,
    next: async (wait) => taken?.leaseId ? taken : await waitForLease(account, lease, wait),
  }
}

/** Whether a send's unit may have been committed although it failed. */
function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof GridError) || error.code === 'unavailable'
}

function leasePart(
  account: AccountStore,
  input: LeaseInput,
  { lease, parts }: PlannedClaim,
  taken: (lease: TimedLease) => void,
): SendPart {
  return {
    statements: [parts.lease, parts.claim, parts.messages],
    needsMessage: true,
    async stored([, , rows]) {
      taken(leasedUntil(account, lease.expiresAt!, await claimed(account, budgetOf(input), lease, rows)))
    },
  }
}
