/** The content of the page Home: conversations with news, and figures. Reads no texts between others. */
import { day, hour, startOfDay } from '../../lib/time.ts'
import { allows, callingUser } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxNew } from '../../store/account/figures.ts'
import { placesOfNewest } from './list.ts'
import { mayRead, type Reader, readerOf } from './may-read.ts'
import { listThreads, type Thread } from './threads.ts'

export { maxNew }

export interface News {
  /** The thread, with no preview. */
  thread: Thread
  /** The number of new messages, at most `maxNew`, and how many of them failed. */
  messages: number
  failed: number
}

/**
 * Returns readable conversations with messages that the calling user has not seen, newest first. In a conversation that
 * the user never opened, messages of the last day count, except those from before the user joined. Marks nothing as
 * seen. `isCut` means that there may be older conversations.
 */
export async function newsOf(account: AccountStore): Promise<{ reader: Reader; news: News[]; isCut: boolean }> {
  const { userId, role } = callingUser(account.actor)
  // Members and viewers read only what they take part in.
  const asked = listThreads(account, { userId, isOfUser: !allows(role, 'manage') })
  const [reader, { threads, next }] = await Promise.all([readerOf(account), asked])
  const since = Math.max(reader.memberSince, account.deps.now() - day)
  const changed = threads.filter(({ seenSeq, lastSeq, lastAt }) => seenSeq === 0 ? lastAt >= since : seenSeq < lastSeq)
  const [counts, places] = await Promise.all([
    account.read.figures.news(changed.map(({ id, seenSeq }) => {
      return { thread: id, after: seenSeq, since: seenSeq === 0 ? since : 0 }
    })),
    placesOfNewest(account, reader, changed),
  ])
  const news = changed.flatMap((thread): News[] => {
    const count = counts.find(({ threadId }) => threadId === thread.id)
    if (!count || !mayRead(reader, places.get(thread.id)!, thread.lastAt)) return []
    return [{ thread: { ...thread, preview: null }, messages: count.messages, failed: count.failed }]
  })
  return { reader, news, isCut: next !== undefined && changed.length === threads.length }
}

/** The figures of an hour or a day in UTC. `answerMs` is the total time that its `answers` took. */
export interface Period {
  at: number
  sent: number
  answers: number
  answerMs: number
  refused: number
  failed: number
}

/** Returns the figures per hour of the last 24 hours, or per day of the last 7 days, oldest first. */
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
