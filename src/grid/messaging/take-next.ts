/** Sending a message and leasing the next ones in one call. See docs/protocol/rest.md, "Messages". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { budgetOf } from './inbox-message.ts'
import type { Sender, SendInput, SendPart, SentMessage } from '../message/outgoing-message.ts'
import { claimed, type PlannedClaim, releaseUnknown } from './read-messages.ts'
import { sendMessage } from './send-message.ts'
import { leasedUntil, type LeaseInput, planLease, type TimedLease, waitForLease } from './timed-leases.ts'
import type { WaitOptions } from './wait-for-messages.ts'

/**
 * Send as `sendMessage` does, and lease the next messages: in the unit of the message if some are unread, otherwise
 * `next` waits for them. A repeat under the same idempotency key gets the lease of the first call while it is open.
 * What `next` fails with is no error of the send, because the message is stored by then.
 */
export async function sendAndTakeNext(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  leaseInput: LeaseInput,
): Promise<{ sent: SentMessage; next(wait: WaitOptions): Promise<TimedLease> }> {
  const lease = { ...leaseInput, key: input.idempotencyKey }
  // What fails here fails again after the commit, and is told then.
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
    // With a key, its repeat gets the lease.
    if (planned && lease.key === undefined && isOutcomeUnknown(error)) releaseUnknown(account, planned.lease, error)
    throw error
  })
  return {
    sent,
    next: async (wait) => taken?.leaseId ? taken : await waitForLease(account, lease, wait),
  }
}

/** Whether the unit of a send may have been committed although it failed. */
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
