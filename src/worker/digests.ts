/** Sends mail digests that are due. See docs/delivery.md, "Notifications". */
import { recordPauses } from '../grid/messaging/turns.ts'
import { nextDigestAt } from '../grid/notifications/digests.ts'
import { newsOf } from '../grid/notifications/news.ts'
import { conversationsPausedEmail } from '../grid/people/email-templates.ts'
import { sendNotice, trySendDigest } from '../grid/people/send-email.ts'
import { takePauseAttempt } from '../grid/people/throttle.ts'
import { day, hour } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

const perPage = 100

/**
 * Send what is due. Several processes may do this at the same time: whoever moves a digest on sends it, so there is at
 * most one in a period. A process that is killed then leaves one out, and the next one tells of the same messages.
 */
export async function sendDigests(store: Store, signal?: AbortSignal): Promise<void> {
  const { global: { notifications }, deps: { email, log, now } } = store
  if (!email.isConfigured) return
  while (!signal?.aborted) {
    const due = await notifications.digestsDue(now(), perPage)
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
  const { config, now } = store.deps
  const account = store.account(accountId, { type: 'system', job: 'digest' })
  const { read, change: { notifications } } = account
  const digest = await read.notifications.digest(userId)
  if (!digest) return
  const until = nextDigestAt(digest.period, dueAt, now())
  const [claimed] = await account.write([notifications.claimDigest(userId, dueAt, until)])
  if (claimed.length === 0) return

  const [unread, questions, held, news] = await Promise.all([
    read.notifications.unread(userId),
    read.questions.ofUser(userId, now()),
    read.held.ofUser(userId, now(), maxToDecide),
    newsOf(account, userId, { after: digest.notifiedNewsSeq }),
  ])
  const waiting = [
    ...unread.map((message) => ({ ...message, messages: 1 })),
    ...questions.map(({ sender, deliverySeq, messages }) => ({ alias: sender, seq: deliverySeq, messages })),
  ].sort((a, b) => b.seq - a.seq)
  const count = waiting.reduce((sum, { messages }) => sum + messages, 0)
  // Nothing waits, or all of it was told already.
  const waits = count > 0 && waiting[0].seq > digest.notifiedSeq
  // What was held before the last digest was told with it, and is told again before its time is over.
  const before = dueAt - (digest.period === 'hourly' ? hour : day)
  const decides = held.some(({ heldAt, expiresAt }) => heldAt >= before || expiresAt <= until)
  if ((!waits && !decides && news.length === 0) || digest.emailVerifiedAt === null) return
  const isSent = await trySendDigest(
    store,
    digest.email,
    `${config.appUrl}/accounts/${accountId}/home`,
    {
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
    },
  )
  if (isSent) await account.write([notifications.notifyByDigest(userId, waiting[0]?.seq ?? 0, news[0]?.seq ?? 0)])
}

const accountsAtATime = 100
const maxToDecide = 200

/**
 * Write rows of the activity log and send one email, for each account with pauses that its owners were not told of, at
 * most once an hour. Several processes may do this at the same time: the one that takes the attempt does it.
 */
export async function notifyOfPauses(store: Store): Promise<void> {
  for (const accountId of await store.global.turns.withUnnotified(accountsAtATime)) {
    try {
      if (await takePauseAttempt(store, accountId)) await notifyOwners(store, accountId)
    } catch (error) {
      store.deps.log.warn('The owners were not told that conversations are paused', { error, account: accountId })
    }
  }
}

async function notifyOwners(store: Store, accountId: string): Promise<void> {
  const account = store.account(accountId, { type: 'system', job: 'pause-conversation' })
  const paused = await recordPauses(account)
  if (paused.length === 0) return
  const name = (await store.global.accounts.byId(accountId))?.name ?? ''
  const notice = conversationsPausedEmail(store.deps.config, name, paused.map(({ agents }) => agents))
  for (const { email, role } of await account.read.team.members()) {
    if (role === 'owner') sendNotice(store, email, notice)
  }
}
