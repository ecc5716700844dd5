/** Sends browser notifications that are due. See docs/web.md, "Notifications". */
import { hour, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { takePushAttempt } from './limits.ts'
import { newsOf } from './news.ts'
import { type PushResult, sendPush } from './send-push.ts'
import { allNotifications, type DueNotice, newsMs, notificationTables } from './store.ts'
import { recordResult } from './subscriptions.ts'

/** How long a message waits before a notification, so that people who respond immediately are not notified. */
export const quietMs = 5 * second
/** Minimum interval between two notifications about the same thread in one browser. */
export const batchMs = minute
/** How long a process may hold a claimed notification before another process retries it. */
const claimMs = 2 * minute
/** Retry delays, unless the push service asks for more. */
const retryAfterMs = [10 * second, minute, 5 * minute, hour]
const maxSending = 10
const maxToDecide = 200

/** Sends due notifications, a few at a time. When the process stops, pending requests are aborted and retried later. */
export class PushNotifier {
  readonly #store: Store
  readonly #stopping: AbortSignal
  readonly #sending = new Map<string, Promise<void>>()

  constructor(store: Store, stopping: AbortSignal) {
    this.#store = store
    this.#stopping = stopping
  }

  async settled(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending.values())
  }

  async run(): Promise<void> {
    const due = await this.#store.feature(allNotifications).due(this.#store.deps.now(), 2 * maxSending)
    for (const notice of due) this.#start(notice)
  }

  #start(notice: DueNotice): void {
    const key = `${notice.subscriptionId} ${notice.threadId}`
    if (this.#stopping.aborted || this.#sending.size >= maxSending || this.#sending.has(key)) return
    const sent = this.#send(notice).finally(() => this.#sending.delete(key)).then(() => this.run())
    this.#sending.set(
      key,
      sent.catch((error) => {
        this.#store.deps.log.warn('A notification was not sent', { error, account: notice.accountId })
      }),
    )
  }

  async #send(notice: DueNotice): Promise<void> {
    const { accountId, subscriptionId, threadId, userId, dueAt } = notice
    const isNews = notice.kind === 'news'
    const store = this.#store
    const { deps: { now } } = store
    const account = store.account(accountId, { type: 'system', job: 'notify' })
    const { read, change: notifications } = account.feature(notificationTables)
    const claimedUntil = now() + claimMs
    const [claimed] = await account.write([notifications.claim(notice, dueAt, claimedUntil)])
    if (claimed.length === 0) return
    const settle = (notifiedSeq: number, pushedAt: number | null) =>
      account.write([notifications.settle(notice, {
        ...{ dueAt: claimedUntil, notifiedSeq, pushedAt },
        until: now() + (pushedAt === null ? quietMs : isNews ? newsMs : batchMs),
      })])

    const tries = Number(claimed[0].tries)
    if (tries > retryAfterMs.length + 1) {
      await recordResult(account, subscriptionId, { outcome: 'failed' })
      return void await settle(Number.MAX_SAFE_INTEGER, null)
    }
    const [browser, messages, news] = await Promise.all([
      read.subscription(subscriptionId),
      notice.kind === 'held'
        ? toDecide(account, userId)
        : isNews
        ? []
        : read.inThread(userId, subscriptionId, threadId),
      isNews ? newsOf(account, userId, { thread: threadId }) : [],
    ])
    const waiting = isNews ? news : messages
    if (!browser) return
    // A notification is dropped if its messages were answered in the meantime, or if the rate limit is reached.
    const isWanted = waiting.length > 0 && await takePushAttempt(store, accountId, userId)
    if (!isWanted) return void await settle(waiting[0]?.seq ?? Number.MAX_SAFE_INTEGER, null)

    const place = `/accounts/${accountId}/conversations/${threadId}`
    const result = await sendPush(store, browser, {
      ...notice.kind === 'held'
        ? { title: `@${messages[0].alias}`, body: `${forDecision(messages.length)} in ${browser.accountName}` }
        : isNews
        ? { title: `@${news[0].alias} ${news[0].did}`, body: browser.accountName }
        : { title: `@${messages[0].alias}`, body: `${newMessages(messages.length)} in ${browser.accountName}` },
      tag: `${accountId}:${notice.kind === 'held' ? 'held' : threadId}`,
      path: notice.kind === 'held' ? `/accounts/${accountId}/held` : isNews ? place : `${place}?show=you`,
    }, this.#stopping)
    const waitMs = delayOf(result, tries)
    if (waitMs !== undefined) {
      return void await account.write([notifications.postpone(notice, claimedUntil, now() + waitMs)])
    }
    // No further attempt follows, so `later` counts as `failed`.
    await recordResult(account, subscriptionId, result.outcome === 'later' ? { outcome: 'failed' } : result)
    if (result.outcome !== 'gone') await settle(waiting[0].seq, now())
  }
}

/** The senders of messages that wait for a user's decision, newest first. `seq` is the time when a message was held. */
async function toDecide({ read, deps }: AccountStore, userId: string): Promise<{ alias: string; seq: number }[]> {
  const held = await read.held.ofUser(userId, deps.now(), maxToDecide)
  return held.map(({ fromAlias, heldAt }) => ({ alias: fromAlias, seq: heldAt })).sort((a, b) => b.seq - a.seq)
}

function forDecision(count: number): string {
  return count === 1 ? 'A message waits for your decision' : `${count} messages wait for your decision`
}

function newMessages(count: number): string {
  return count === 1 ? 'A new message' : `${count} new messages`
}

/** The delay before the next attempt. Undefined if there is no further attempt. */
function delayOf(result: PushResult, tries: number): number | undefined {
  const delay = retryAfterMs[tries - 1]
  if (result.outcome !== 'later' || delay === undefined) return undefined
  return Math.max(delay, result.afterMs ?? 0)
}
