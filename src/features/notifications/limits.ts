/** Rate limits of notifications. See docs/people.md, "Signing in". */
import { take, takeEmailOfKind, tryTake } from '../../grid/people/throttle.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import { hour, minute } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'

/** Rates of notifications to all of a user's browsers in one account, and of test notifications. */
const rates = { push: [[120, hour]], test: [[5, minute], [30, hour]] } as const
const digests = { rates: [[12, hour]], share: 0.1 } as const

/** Counts one digest to a recipient. Returns false if a limit is reached. */
export async function takeDigestAttempt(store: Store, email: string): Promise<boolean> {
  return await takeEmailOfKind(store, { kind: 'digest', email, ...digests })
}

export async function takePushAttempt(store: Store, account: string, userId: string): Promise<boolean> {
  return !await tryTake(store, [{ kind: 'push', subject: subjectOf(account, userId), rates: rates.push }])
}

/** Counts one test notification. Fails with `rate_limit_exceeded`. */
export async function takePushTest(store: Store, account: string, userId: string): Promise<void> {
  const refusal = { name: 'notifications', what: 'Too many tests.' }
  await take(store, [{ kind: 'push_test', subject: subjectOf(account, userId), rates: rates.test }], refusal)
}

function subjectOf(account: string, userId: string): string {
  return hashForLookup(`${account}\n${userId}`)
}
