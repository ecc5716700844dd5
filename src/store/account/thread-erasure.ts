/** Removes what the projection `threads` made of messages that are about to be removed. See docs/architecture.md, "Projections". */
import { type SQL, sql } from 'drizzle-orm'
import { deliveries, messages, threadAgents, threadMessages, threads, threadSeen } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** A thread without messages, until it is removed a statement later. */
const nothingLeft = sql`-1`

/**
 * Statements that remove the places of messages of the account that meet `chosen`, a condition on `messages AS m`: in
 * this account, and in those that they were delivered to. They go before the statements that remove the messages.
 */
export function threadErasure(db: Db, crossAccountQueries: CrossAccountQueries, chosen: SQL) {
  const ofAccount = sql`m.account_id = ${p('account')} AND ${chosen}`
  const received = sql`${messages} AS m JOIN ${deliveries} AS d ON d.sender_account_id = m.account_id
    AND d.message_id = m.id AND m.channel_id IS NULL`
  const lost = sql`SELECT m.account_id, m.seq FROM ${messages} AS m WHERE ${ofAccount}
    UNION SELECT d.account_id, m.seq FROM ${received} WHERE ${ofAccount} AND d.account_id <> m.account_id`
  const lostPlaces = sql`SELECT place.account_id, place.thread_id, place.seq FROM (${lost}) AS lost
    CROSS JOIN ${threadMessages} AS place ON place.account_id = lost.account_id AND place.seq = lost.seq`

  const shrink = db.update(threads).set({ messages: sql`${threads.messages} - lost.n` })
    .from(
      sql`(SELECT account_id, thread_id, count(*) AS n FROM (${lostPlaces}) GROUP BY account_id, thread_id) AS lost`,
    )
    .where(sql`${threads.accountId} = lost.account_id AND ${threads.id} = lost.thread_id`).toSQL()
  const removePlaces = db.delete(threadMessages)
    .where(sql`(account_id, seq) IN (SELECT account_id, seq FROM (${lostPlaces}))`).toSQL()
  const newest = sql`(SELECT max(place.seq) FROM ${threadMessages} AS place
    WHERE place.account_id = ${threads.accountId} AND place.thread_id = ${threads.id})`
  const goBack = db.update(threads).set({
    lastSeq: sql`coalesce(${newest}, ${nothingLeft})`,
    lastAt: sql`coalesce((SELECT m.created_at FROM ${messages} AS m WHERE m.seq = ${newest}), 0)`,
  }).from(sql`(${lost}) AS lost`)
    .where(sql`${threads.accountId} = lost.account_id AND ${threads.lastSeq} = lost.seq`).toSQL()
  const emptied = sql`SELECT emptied.account_id, emptied.id FROM (SELECT DISTINCT account_id FROM (${lost})) AS lost
    CROSS JOIN ${threads} AS emptied ON emptied.account_id = lost.account_id AND emptied.last_seq = ${nothingLeft}`
  const removeSeen = db.delete(threadSeen).where(sql`(account_id, thread_id) IN (${emptied})`).toSQL()
  const removeAgents = db.delete(threadAgents).where(sql`(account_id, thread_id) IN (${emptied})`).toSQL()
  const removeThreads = db.delete(threads).where(sql`(account_id, id) IN (${emptied})`).toSQL()

  const statements = [shrink, removePlaces, goBack, removeSeen, removeAgents, removeThreads]
  for (const { sql: text } of statements) crossAccountQueries.set(text, 'places of messages to remove')
  return statements
}
