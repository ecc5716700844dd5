/** Removes old messages and idempotency keys. */
import type { Row } from '@libsql/client'
import { type AccountDb, crossAccountStatement, type Query, query, type Statement, statement } from '../sql.ts'
import { releaseUploads } from './uploads.ts'

const nothingLeft = -1

/**
 * Statements that remove the positions of messages that match `chosen`, a condition on `messages AS m`. They run first.
 */
function threadErasure(chosen: string): Query<Row>[] {
  const lost = `
    SELECT m.account_id, m.seq FROM messages AS m WHERE m.account_id = :account AND ${chosen}
    UNION
    SELECT d.account_id, m.seq FROM messages AS m
    JOIN deliveries AS d ON d.seq = m.seq AND m.channel_id IS NULL
    WHERE m.account_id = :account AND ${chosen} AND d.account_id <> m.account_id`
  const lostPlaces = `
    SELECT place.account_id, place.thread_id, place.seq FROM (${lost}) AS lost
    CROSS JOIN thread_messages AS place ON place.account_id = lost.account_id AND place.seq = lost.seq`
  const newest = `(SELECT max(place.seq) FROM thread_messages AS place
    WHERE place.account_id = threads.account_id AND place.thread_id = threads.id)`
  const emptied = `
    SELECT emptied.account_id, emptied.id FROM (SELECT DISTINCT account_id FROM (${lost})) AS lost
    CROSS JOIN threads AS emptied ON emptied.account_id = lost.account_id AND emptied.last_seq = ${nothingLeft}`
  return [
    `UPDATE threads SET messages = threads.messages - lost.n
    FROM (SELECT account_id, thread_id, count(*) AS n FROM (${lostPlaces}) GROUP BY account_id, thread_id) AS lost
    WHERE threads.account_id = lost.account_id AND threads.id = lost.thread_id`,
    `DELETE FROM thread_messages WHERE (thread_id, seq) IN (SELECT thread_id, seq FROM (${lostPlaces}))`,
    `UPDATE threads SET last_seq = coalesce(${newest}, ${nothingLeft}),
      last_at = coalesce((SELECT m.created_at FROM messages AS m WHERE m.seq = ${newest}), 0)
    FROM (${lost}) AS lost WHERE threads.account_id = lost.account_id AND threads.last_seq = lost.seq`,
    `DELETE FROM thread_seen WHERE (account_id, thread_id) IN (${emptied})`,
    `DELETE FROM thread_agents WHERE (account_id, thread_id) IN (${emptied})`,
    `DELETE FROM threads WHERE (account_id, id) IN (${emptied})`,
  ].map((text) => crossAccountStatement('places of messages to remove', text))
}

// Message ids sort by time, so the first are the oldest, apart from clock differences.
const oldMessages = query<{ id: string; recipients: number }>(`
  SELECT first.id, (
    SELECT count(*) FROM deliveries
    WHERE deliveries.seq = first.seq) AS recipients
  FROM (SELECT seq, id, created_at FROM messages WHERE account_id = :account ORDER BY id LIMIT :limit) AS first
  WHERE first.created_at <= :until`)

const ids = `(SELECT value FROM json_each(:ids))`
const removeKeys = statement(`
  DELETE FROM idempotency_keys WHERE sender_account_id = :account AND message_id IN ${ids} AND created_at <= :until`)
const ofMessages = (table: string, account = 'sender_account_id') =>
  statement(`DELETE FROM ${table} WHERE ${account} = :account AND message_id IN ${ids} RETURNING 1`)
const ofNumbers = (table: string) =>
  statement(`
    DELETE FROM ${table} WHERE seq IN (
      SELECT messages.seq FROM messages WHERE messages.account_id = :account AND messages.id IN ${ids})
    RETURNING 1`)
// Referencing rows come first, because of the foreign keys.
const removePlaces = threadErasure(`m.id IN ${ids}`)
const removeMessages = {
  lease_releases: ofNumbers('lease_releases'),
  held_messages: ofMessages('held_messages'),
  deliveries: ofNumbers('deliveries'),
  idempotency_keys: ofMessages('idempotency_keys'),
  parts: ofMessages('parts', 'account_id'),
  // Returns no rows, because the worker counts uploads when it removes them.
  uploads: releaseUploads('SELECT value FROM json_each(:ids)'),
  task_messages: ofMessages('task_messages'),
  messages: statement(`DELETE FROM messages WHERE account_id = :account AND id IN ${ids} RETURNING 1`),
}

/** The tables of the last statements of `removeMessages`. Each returns a row for each removed row. */
export const removedTables = Object.keys(removeMessages)

export const retention = {
  reads: (account: AccountDb) => ({
    /** Of the oldest `limit` messages, those stored by `until`, each with its number of recipients. */
    messages: (until: number, limit: number) => account.all(oldMessages, { until, limit }),
  }),
  changes: (account: AccountDb) => ({
    removeKeys: (messageIds: string[], until: number): Statement => ({
      ...account.bind(removeKeys, { ids: JSON.stringify(messageIds), until }),
      rows: messageIds.length,
    }),
    /** Removes read and unread messages with all dependent rows. `rows` is the total number of rows. */
    removeMessages: (messageIds: string[], rows: number): Statement[] =>
      [...removePlaces, ...Object.values(removeMessages)].map((statement) => ({
        ...account.bind(statement, { ids: JSON.stringify(messageIds) }),
        rows: Math.ceil(rows / (removePlaces.length + removedTables.length)),
      })),
  }),
}
