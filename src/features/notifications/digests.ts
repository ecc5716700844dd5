/** Settings of digest emails, which report how many messages wait for a person. See docs/web.md, "Notifications". */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { authorize } from '../../grid/authorize.ts'
import { callingPersonAlias } from '../../grid/people/person-aliases.ts'
import { retryOnConflict } from '../../grid/retry-on-conflict.ts'
import { mintLinkToken } from '../../lib/secrets.ts'
import { day, hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { allNotifications, type DigestPeriod, notificationTables } from './store.ts'

const periodMs: Record<DigestPeriod, number> = { hourly: hour, daily: day }

export async function findDigest(
  account: AccountStore,
): Promise<{ period: DigestPeriod; nextAt: number } | undefined> {
  return await account.feature(notificationTables).read.digest(callingUser(account.actor).userId)
}

/** Sets how often the calling user gets an email about unread messages. No emails are sent if `period` is undefined. */
export async function setDigest(
  account: AccountStore,
  { emailVerifiedAt }: { emailVerifiedAt: number | null },
  period: DigestPeriod | undefined,
): Promise<void> {
  const { userId } = callingUser(account.actor)
  const { change: notifications } = account.feature(notificationTables)
  if (period === undefined) return void await account.write([notifications.endDigest(userId)])
  if (!account.deps.email.isConfigured) throw new GridError('invalid_input', 'This grid is not set up to send email.')
  if (emailVerifiedAt === null) throw new GridError('invalid_input', 'Verify your email address first.')
  const { token } = mintLinkToken()
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'use')
    const personAlias = await callingPersonAlias(account)
    const nextAt = account.deps.now() + periodMs[period]
    await account.write([
      ...precondition,
      account.change.personAliases.requirePersonAlias(userId, personAlias.agentId),
      notifications.setDigest(userId, period, nextAt, token),
    ])
  })
}

/** Ends the digest emails whose links contain the token. Resolves to whether there was such a subscription. */
export async function endDigest(store: Store, token: string): Promise<boolean> {
  const [ended] = await store.write([store.feature(allNotifications).endDigest(token)])
  return ended.length > 0
}

/** Returns when the next digest is due after the one at `dueAt`. Missed digests do not shift the schedule. */
export function nextDigestAt(period: DigestPeriod, dueAt: number, now: number): number {
  const missed = Math.max(0, Math.floor((now - dueAt) / periodMs[period]))
  return dueAt + (missed + 1) * periodMs[period]
}
