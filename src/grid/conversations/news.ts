/** What the page Home shows: conversations with news, and figures. It reads no texts between others. */
import { day, hour, startOfDay } from '../../lib/time.ts'
import { callingUser } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxNew } from '../../store/account/figures.ts'
import { type Reader, readerOf } from './may-read.ts'
import { listThreads, type Thread } from './threads.ts'

export { maxNew }

export interface News {
  /** Without a preview. */
  thread: Thread
  /** How many messages are new, up to `maxNew`, and how many of these have failed. */
  messages: number
  failed: number
  group: 'people' | 'agents' | 'channels'
}

/**
 * The newest conversations in which something was said since the calling user looked, failures first. Conversations that
 * they never opened count for a day. It is no look at them. `isCut`: there may be older ones.
 */
export async function newsOf(account: AccountStore): Promise<{ reader: Reader; news: News[]; isCut: boolean }> {
  const { userId } = callingUser(account.actor)
  const [reader, { threads, next }] = await Promise.all([readerOf(account), listThreads(account, { userId })])
  const dayAgo = account.deps.now() - day
  const changed = threads.filter(({ seenSeq, lastSeq, lastAt }) => seenSeq === 0 ? lastAt >= dayAgo : seenSeq < lastSeq)
  const counts = await account.read.figures.news(changed.map(({ id, seenSeq }) => {
    return { thread: id, after: seenSeq, since: seenSeq === 0 ? dayAgo : 0 }
  }))
  const news = counts.map(({ threadId, messages, failed, hasPerson }): News => {
    const thread = changed.find(({ id }) => id === threadId)!
    const group = thread.channel ? 'channels' : hasPerson ? 'people' : 'agents'
    return { thread: { ...thread, preview: null }, messages, failed, group }
  })
  news.sort((a, b) => b.failed - a.failed || b.thread.lastSeq - a.thread.lastSeq)
  return { reader, news, isCut: next !== undefined && changed.length === threads.length }
}

/** An hour or a day in UTC. `answerMs` is the sum of the times of its `answers`. */
export interface Period {
  at: number
  sent: number
  answers: number
  answerMs: number
  refused: number
  failed: number
}

/** The figures of the last 24 hours or 7 days, oldest first. */
export async function figuresOf(account: AccountStore, unit: 'hour' | 'day'): Promise<Period[]> {
  const { traffic, figures } = account.read
  const now = account.deps.now()
  const [length, n] = unit === 'hour' ? [hour, 24] : [day, 7]
  const last = unit === 'hour' ? now - now % hour : startOfDay(now)
  const starts = Array.from({ length: n }, (_, index) => last - (n - 1 - index) * length)
  const [totals, refused, failed] = await Promise.all([
    traffic.totals(length, starts[0]),
    figures.refused(starts[0]),
    figures.failed(starts[0]),
  ])
  return starts.map((at) => {
    const sum = (rows: { at: number; count: number }[]) =>
      rows.reduce((sum, row) => row.at >= at && row.at < at + length ? sum + row.count : sum, 0)
    const { count: sent = 0, answers = 0, answerMs = 0 } = totals.find((total) => total.at === at) ?? {}
    return { at, sent, answers, answerMs, refused: sum(refused), failed: sum(failed) }
  })
}
