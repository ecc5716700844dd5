/**
 * The projection `threads`: the places of messages in the conversations of each account. One unit takes in the next
 * messages of the log. See docs/architecture.md, "Projections".
 */
import { and, eq, lt, ne, type SQL, sql } from 'drizzle-orm'
import { deliveries, messages, projections, threadAgents, threadMessages, threads } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

const isThreads = eq(projections.name, sql`'threads'`)

/** The position of the projection; no row while it is being emptied. */
export const followed = sql`(SELECT ${projections.seq} FROM ${projections}
  WHERE ${projections.name} = 'threads' AND ${projections.seq} >= 0)`

/** What one unit did. */
export interface Progress {
  /** Everything up to this message is taken in. */
  seq: number
  /** The newest message. */
  newest: number
}

/** The statements that place messages in threads. `chosen` is a condition on `messages AS m`. */
export function placing(db: Db, chosen: SQL) {
  // The second side is the account of a recipient, if it is another one.
  const isOwn = sql`side.n = 0`
  const account = sql`iif(${isOwn}, m.account_id, d.account_id)`
  const stranger = sql`iif(m.account_id = d.account_id, '', iif(${isOwn}, d.agent_id, m.from_agent_id))`
  const pair = sql`iif(m.from_agent_id < d.agent_id,
    m.from_agent_id || ' ' || d.agent_id, d.agent_id || ' ' || m.from_agent_id)`
  const places = (more: SQL) =>
    sql`SELECT m.seq, m.created_at, m.account_id AS home, m.from_agent_id AS sender, m.reply_to_message_id AS reply_to,
      ${account} AS account_id,
      CASE WHEN m.channel_id IS NOT NULL THEN 'channel' WHEN m.conversation_id IS NOT NULL THEN 'conversation' ELSE 'pair' END
        AS kind,
      CASE WHEN m.channel_id IS NOT NULL THEN m.channel_id
        WHEN m.conversation_id IS NOT NULL THEN ${stranger} || '/' || m.conversation_id ELSE ${pair} END AS key
    FROM ${messages} AS m
    LEFT JOIN ${deliveries} AS d
      ON d.message_id = m.id AND d.sender_account_id = m.account_id AND m.channel_id IS NULL
    CROSS JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS side
    WHERE ${chosen} AND ${more} AND (m.channel_id IS NOT NULL OR d.seq IS NOT NULL)
      AND (${isOwn} OR d.account_id <> m.account_id)`
  const ofThread = (place: SQL) =>
    sql`threads.account_id = ${place}.account_id AND threads.kind = ${place}.kind AND threads.key = ${place}.key`

  const grow = db.insert(threads).select(
    db.select({
      id: sql<number>`NULL`.as('id'),
      accountId: sql<string>`place.account_id`.as('account_id'),
      kind: sql<'pair'>`place.kind`.as('kind'),
      key: sql<string>`place.key`.as('key'),
      lastSeq: sql<number>`max(place.seq)`.as('last_seq'),
      // Of the row that has the newest message: so SQLite takes a column beside max().
      lastAt: sql<number>`place.created_at`.as('last_at'),
      messages: sql<number>`count(*)`.as('messages'),
    }).from(sql`(${places(sql`1`)}) AS place`).where(sql`true`)
      .groupBy(sql`place.account_id`, sql`place.kind`, sql`place.key`),
  ).onConflictDoUpdate({
    target: [threads.accountId, threads.kind, threads.key],
    set: {
      lastAt: sql`iif(excluded.last_seq > ${threads.lastSeq}, excluded.last_at, ${threads.lastAt})`,
      lastSeq: sql`max(${threads.lastSeq}, excluded.last_seq)`,
      messages: sql`${threads.messages} + excluded.messages`,
    },
  }).toSQL()

  const parent = sql`coalesce(
    (SELECT asked.seq FROM ${messages} AS asked WHERE asked.account_id = place.home AND asked.id = place.reply_to),
    (SELECT asked.seq FROM ${deliveries} AS got
      JOIN ${messages} AS asked ON asked.account_id = got.sender_account_id AND asked.id = got.message_id
      WHERE got.message_id = place.reply_to AND got.account_id = place.home AND got.agent_id = place.sender))`
  const rootOf = (reply: SQL) =>
    sql`(SELECT root_seq FROM ${threadMessages} AS asked
      WHERE asked.account_id = ${reply}.account_id AND asked.seq = ${reply}.parent)`
  const placed = (more: SQL, parentSeq: SQL) =>
    sql`SELECT place.account_id, threads.id AS thread_id, place.seq, CAST(${parentSeq} AS INTEGER) AS parent
    FROM (${places(more)}) AS place CROSS JOIN ${threads} ON ${ofThread(sql`place`)}`
  const asPlaces = (rows: SQL) =>
    db.insert(threadMessages).select(
      db.select({
        accountId: sql<string>`account_id`.as('account_id'),
        threadId: sql<number>`thread_id`.as('thread_id'),
        seq: sql<number>`seq`.as('seq'),
        rootSeq: sql<number>`root_seq`.as('root_seq'),
      }).from(sql`(${rows}) AS placed`).where(sql`true`),
    ).onConflictDoNothing().toSQL()
  const add = asPlaces(
    sql`SELECT account_id, thread_id, seq, seq AS root_seq FROM (${
      placed(sql`m.reply_to_message_id IS NULL`, sql`0`)
    })`,
  )
  // From the first reply of each chain on, so that each is looked at once however long the chain is.
  const addReplies = asPlaces(sql`WITH RECURSIVE
    reply AS MATERIALIZED (${placed(sql`m.reply_to_message_id IS NOT NULL`, parent)}),
    chain AS (
      SELECT account_id, thread_id, seq, coalesce(${rootOf(sql`reply`)}, seq) AS root_seq FROM reply
      WHERE NOT EXISTS (
        SELECT 1 FROM reply AS before WHERE before.account_id = reply.account_id AND before.seq = reply.parent
          AND before.seq < reply.seq)
      UNION ALL
      SELECT reply.account_id, reply.thread_id, reply.seq, chain.root_seq FROM chain
      JOIN reply ON reply.account_id = chain.account_id AND reply.parent = chain.seq AND reply.seq > chain.seq
    )
    SELECT * FROM chain`)

  // A sender in its own account, and a recipient in its own.
  const taking = sql`SELECT iif(side.n = 0, m.account_id, d.account_id) AS account_id,
      iif(side.n = 0, m.from_agent_id, d.agent_id) AS agent_id, iif(side.n = 0, 0, d.seq) AS delivery_seq,
      iif(m.conversation_id IS NULL, 'pair', 'conversation') AS kind,
      iif(m.conversation_id IS NULL, ${pair}, ${stranger} || '/' || m.conversation_id) AS key
    FROM ${messages} AS m
    JOIN ${deliveries} AS d ON d.message_id = m.id AND d.sender_account_id = m.account_id
    CROSS JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS side
    WHERE ${chosen} AND m.channel_id IS NULL`
  const addAgents = db.insert(threadAgents).select(
    db.select({
      accountId: sql<string>`part.account_id`.as('account_id'),
      agentId: sql<string>`part.agent_id`.as('agent_id'),
      threadId: sql<number>`threads.id`.as('thread_id'),
      deliverySeq: sql<number>`max(part.delivery_seq)`.as('delivery_seq'),
    }).from(sql`(${taking}) AS part CROSS JOIN ${threads} ON ${ofThread(sql`part`)}`).where(sql`true`)
      .groupBy(sql`part.account_id`, sql`part.agent_id`, sql`threads.id`),
  ).onConflictDoUpdate({
    target: [threadAgents.accountId, threadAgents.agentId, threadAgents.threadId],
    set: { deliverySeq: sql`excluded.delivery_seq` },
    setWhere: lt(threadAgents.deliverySeq, sql`excluded.delivery_seq`),
  }).toSQL()

  return [grow, add, addReplies, addAgents]
}

export function prepareThreadProjection(db: Db, crossAccountQueries: CrossAccountQueries) {
  const first = sql`(SELECT min(seq) FROM ${messages} AS next WHERE next.seq > ${followed})`
  const end = sql`${first} + ${p('limit')}`
  const steps = placing(db, sql`m.seq >= ${first} AND m.seq < ${end}`)
  const newest = sql<number>`coalesce((SELECT max(seq) FROM ${messages} AS newest), 0)`
  const advance = db.update(projections)
    .set({ seq: sql`(SELECT max(seq) FROM ${messages} AS taken WHERE taken.seq < ${end})` })
    .where(and(isThreads, sql`${first} IS NOT NULL`)).toSQL()
  for (const { sql: text } of steps) crossAccountQueries.set(text, 'places of new messages')
  crossAccountQueries.set(advance.sql, 'places of new messages')
  const position = db.select({ seq: projections.seq, newest: newest.as('newest') }).from(projections).where(isThreads)
    .prepare()
  crossAccountQueries.set(position.getQuery().sql, 'newest message')

  const someOf = sql`SELECT account_id, thread_id, seq FROM ${threadMessages} LIMIT ${p('limit')}`
  const emptyPlaces = db.delete(threadMessages).where(sql`(account_id, thread_id, seq) IN (${someOf})`)
    .returning({ one: sql`1` }).toSQL()
  const someThreads = sql`SELECT id FROM ${threads} AS old WHERE old.last_seq <> 0 LIMIT ${p('limit')}`
  const emptyThreads = db.update(threads).set({ lastSeq: 0, lastAt: 0, messages: 0 })
    .where(sql`${threads.id} IN (${someThreads})`).returning({ one: sql`1` }).toSQL()
  const someAgents = sql`SELECT account_id, agent_id, thread_id FROM ${threadAgents} LIMIT ${p('limit')}`
  const emptyAgents = db.delete(threadAgents).where(sql`(account_id, agent_id, thread_id) IN (${someAgents})`)
    .returning({ one: sql`1` }).toSQL()
  const begin = db.update(projections).set({ seq: -1 }).where(isThreads).toSQL()
  const isEmpty = and(
    sql`NOT EXISTS (SELECT 1 FROM ${threadMessages})`,
    sql`NOT EXISTS (SELECT 1 FROM ${threadAgents})`,
    sql`NOT EXISTS (SELECT 1 FROM ${threads} WHERE ${ne(threads.lastSeq, 0)})`,
  )
  const restart = db.update(projections).set({ seq: 0 }).where(and(isThreads, lt(projections.seq, 0), isEmpty))
    .returning({ one: sql`1` }).toSQL()
  for (const { sql: text } of [emptyPlaces, emptyThreads, emptyAgents, restart]) {
    crossAccountQueries.set(text, 'places to make again')
  }

  const count = db.select({ n: sql<number>`count(*)` }).from(messages).prepare()
  crossAccountQueries.set(count.getQuery().sql, 'number of messages')

  return {
    /** How many messages there are. */
    placed: async (): Promise<number> => (await runQuery(count))[0].n,
    /** How far the projection is. */
    position: async (): Promise<Progress> => (await runQuery(position))[0],
    /**
     * Take in the next messages: those with the next `limit` numbers. The statements are one unit. Whoever commits it,
     * and however often, each message is taken in once: every unit begins where the last one ended.
     */
    follow: (limit: number): Statement[] => [
      ...steps.map((step) => ({ ...bind(step, { limit }), rows: limit, isTraffic: true })),
      { ...bind(advance, { limit }), isTraffic: true },
    ],
    /** Begin to make the projection again: from now on it is emptied. */
    startAgain: (): Statement => bind(begin, {}),
    /** Empty some more of it, at most `limit` rows of each table. Returns no rows once it is empty and begins anew. */
    empty: (limit: number): Statement[] => [
      ...[emptyPlaces, emptyThreads, emptyAgents].map((statement) => ({ ...bind(statement, { limit }), rows: limit })),
      bind(restart, {}),
    ],
  }
}
