/** Sends digest emails that are due. See docs/web.md, "Notifications". */
import { day, hour } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import { digestEmail } from './digest-email.ts'
import { nextDigestAt } from './digests.ts'
import { takeDigestAttempt } from './limits.ts'
import { newsOf } from './news.ts'
import { allNotifications, notificationTables } from './store.ts'

const perPage = 100

/**
 * Sends due digests. Several processes may run this concurrently. The process that advances a digest's due time sends
 * it, so at most one email is sent per period. If that process is killed, the digest is skipped, and the next one
 * contains its messages.
 */
export async function sendDigests(store: Store, signal?: AbortSignal): Promise<void> {
  const { email, log, now } = store.deps
  if (!email.isConfigured) return
  while (!signal?.aborted) {
    const due = await store.feature(allNotifications).digestsDue(now(), perPage)
    for (const { accountId, userId, nextAt } of due) {
      if (signal?.aborted) return
      await sendDigest(store, accountId, userId, nextAt).catch((error) => {
        log.warn('A mail digest was not sent', { error, account: accountId })
      })
    }
    if (due.length < perPage) return
  }
}

async function sendDigest(store: Store, accountId: string, userId: string, dueAt: number): Promise<void> {
  const { config, email, log, now } = store.deps
  const account = store.account(accountId, { type: 'system', job: 'digest' })
  const { read } = account
  const { read: own, change: notifications } = account.feature(notificationTables)
  const digest = await own.digest(userId)
  if (!digest) return
  const until = nextDigestAt(digest.period, dueAt, now())
  const [claimed] = await account.write([notifications.claimDigest(userId, dueAt, until)])
  if (claimed.length === 0) return

  const [unread, questions, held, news] = await Promise.all([
    own.unread(userId),
    read.questions.ofUser(userId, now()),
    read.held.ofUser(userId, now(), maxToDecide),
    newsOf(account, userId, { after: digest.notifiedNewsSeq }),
  ])
  const waiting = [
    ...unread.map((message) => ({ ...message, messages: 1 })),
    ...questions.map(({ sender, deliverySeq, messages }) => ({ alias: sender, seq: deliverySeq, messages })),
  ].sort((a, b) => b.seq - a.seq)
  const count = waiting.reduce((sum, { messages }) => sum + messages, 0)
  // Whether messages have arrived since the last digest.
  const waits = count > 0 && waiting[0].seq > digest.notifiedSeq
  // Messages held before the previous digest were included in it. They are repeated only if they are about to expire.
  const before = dueAt - (digest.period === 'hourly' ? hour : day)
  const decides = held.some(({ heldAt, expiresAt }) => heldAt >= before || expiresAt <= until)
  if ((!waits && !decides && news.length === 0) || digest.emailVerifiedAt === null) return
  if (!await takeDigestAttempt(store, digest.email)) return log.warn('A mail digest was not sent: limit reached')
  const content = digestEmail(config, `${config.appUrl}/accounts/${accountId}/home`, {
    accountName: digest.accountName,
    waiting: count === 0 ? undefined : count === 1 ? 'A message waits' : `${count} messages wait`,
    senders: [...new Set(waiting.map(({ alias }) => alias))],
    held: {
      count: held.length,
      senders: [...new Set(held.map(({ fromAlias }) => fromAlias))],
      firstEndsAt: held[0]?.expiresAt,
    },
    news: news.map(({ alias, did }) => `@${alias} ${did}`),
    unsubscribe: `${config.appUrl}/unsubscribe/${digest.token}`,
  })
  email.send({ to: digest.email, ...content })
  await account.write([notifications.notifyByDigest(userId, waiting[0]?.seq ?? 0, news[0]?.seq ?? 0)])
}

const maxToDecide = 200
