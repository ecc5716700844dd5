/** The follower `conversations`: assigns messages to conversations. */
import type { Row } from '@libsql/client'
import { agentOf, inboxOf } from '../account/inbox-message.ts'
import { crossAccountQuery, crossAccountStatement, type Db, type Query, type Statement, statement } from '../sql.ts'
import { isAtPosition, type StoredFollower } from './pulse.ts'

/** A follower's position. There is no row while the follower's output is being removed. */
export const positionOf = (follower: StoredFollower) =>
  `(SELECT projections.seq FROM projections WHERE projections.name = '${follower}' AND projections.seq >= 0)`

/** The messages of a batch, unless another process has already handled it. */
export const inBatch = `m.seq > :after AND m.seq <= :upTo AND ${isAtPosition}`

// Each message has two sides. The second side is the recipient's account, if it is a different one.
const isOwn = `side.n = 0`
const account = `iif(${isOwn}, m.account_id, d.account_id)`
/** Condition: the agent is or was in the account. A claim may have moved it to or from the account. */
const hasBeenIn = (account: string, agent: string) =>
  `EXISTS (SELECT 1 FROM agents WHERE agents.account_id = ${account} AND agents.id = ${agent})`
const sender = `iif(${hasBeenIn(account, 'm.from_agent_id')}, '', m.from_agent_id)`
const external = `iif(${isOwn} AND NOT ${hasBeenIn('m.account_id', 'receiver.agent_id')}, receiver.agent_id, ${sender})`
const pair = `iif(m.from_agent_id < receiver.agent_id,
    m.from_agent_id || ' ' || receiver.agent_id, receiver.agent_id || ' ' || m.from_agent_id)`
/** The messages that match `chosen`, a condition on `messages AS m`, with one row for each account that shows them. */
export const places = (chosen: string) => `
    SELECT m.seq, m.created_at, m.account_id AS home, m.from_agent_id AS sender, m.reply_to_message_id AS reply_to,
      ${account} AS account_id,
      CASE WHEN m.channel_id IS NOT NULL THEN 'channel'
        WHEN m.conversation_id IS NOT NULL THEN 'conversation' ELSE 'pair' END AS kind,
      CASE WHEN m.channel_id IS NOT NULL THEN m.channel_id
        WHEN m.conversation_id IS NOT NULL THEN ${external} || '/' || m.conversation_id ELSE ${pair} END AS key,
      m.type, iif(${isOwn}, m.from_agent_id, '@' || m.from_alias) AS source,
      CASE WHEN m.channel_id IS NOT NULL THEN m.channel_id
        WHEN ${account} = d.account_id THEN receiver.agent_id ELSE m.recipient END AS target
    FROM messages AS m
    LEFT JOIN deliveries AS d ON d.seq = m.seq AND m.channel_id IS NULL
    LEFT JOIN agent_numbers AS receiver ON receiver.n = d.inbox
    CROSS JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS side
    WHERE ${chosen} AND (m.channel_id IS NOT NULL OR d.seq IS NOT NULL) AND (${isOwn} OR d.account_id <> m.account_id)`
const ofThread = (place: string) =>
  `threads.account_id = ${place}.account_id AND threads.kind = ${place}.kind AND threads.key = ${place}.key`
const placed = (chosen: string, parent: string) => `
    SELECT place.account_id, threads.id AS thread_id, place.seq, CAST(${parent} AS INTEGER) AS parent
    FROM (${places(chosen)}) AS place CROSS JOIN threads ON ${ofThread('place')}`
const parent = `coalesce(
      (SELECT asked.seq FROM messages AS asked WHERE asked.account_id = place.home AND asked.id = place.reply_to),
      (SELECT got.seq FROM deliveries AS got
        WHERE got.external_message_id = place.reply_to AND got.inbox = ${inboxOf('place.sender', 'place.home')}))`

/** The cross-account statements that place messages in threads. `chosen` is a condition on `messages AS m`. */
export function placing(name: string, chosen: string): Query<Row>[] {
  // `created_at` comes from the row with the newest message, because SQLite takes other columns from the row of max().
  const grow = `
    INSERT INTO threads (account_id, kind, key, last_seq, last_at, messages)
    SELECT place.account_id, place.kind, place.key, max(place.seq), place.created_at, count(*)
    FROM (${places(chosen)}) AS place WHERE true
    GROUP BY place.account_id, place.kind, place.key
    ON CONFLICT (account_id, kind, key) DO UPDATE SET
      last_seq = max(threads.last_seq, excluded.last_seq),
      last_at = iif(excluded.last_seq > threads.last_seq, excluded.last_at, threads.last_at),
      messages = threads.messages + excluded.messages`
  const add = `
    INSERT INTO thread_messages (account_id, thread_id, seq, root_seq)
    SELECT account_id, thread_id, seq, seq FROM (${placed(`${chosen} AND m.reply_to_message_id IS NULL`, '0')})
    WHERE true ON CONFLICT DO NOTHING`
  // Starts from each chain's first reply, so that each message is visited once, regardless of the chain's length.
  const addReplies = `
    INSERT INTO thread_messages (account_id, thread_id, seq, root_seq)
    SELECT account_id, thread_id, seq, root_seq FROM (
      WITH RECURSIVE
      reply AS MATERIALIZED (${placed(`${chosen} AND m.reply_to_message_id IS NOT NULL`, parent)}),
      chain AS (
        SELECT account_id, thread_id, seq, coalesce((
          SELECT root_seq FROM thread_messages AS asked
          WHERE asked.account_id = reply.account_id AND asked.seq = reply.parent), seq) AS root_seq
        FROM reply
        WHERE NOT EXISTS (
          SELECT 1 FROM reply AS before WHERE before.account_id = reply.account_id AND before.seq = reply.parent
            AND before.seq < reply.seq)
        UNION ALL
        SELECT reply.account_id, reply.thread_id, reply.seq, chain.root_seq FROM chain
        JOIN reply ON reply.account_id = chain.account_id AND reply.parent = chain.seq AND reply.seq > chain.seq)
      SELECT * FROM chain)
    WHERE true ON CONFLICT DO NOTHING`
  // Adds sender and recipient in their accounts, and in the recipient's account a sender that a claim moved there.
  const addAgents = `
    INSERT INTO thread_agents (account_id, agent_id, thread_id, delivery_seq, answered_seq)
    SELECT part.account_id, part.agent_id, threads.id, max(part.delivery_seq), max(part.answered_seq)
    FROM (
      SELECT ${account} AS account_id, iif(side.n = 1, receiver.agent_id, m.from_agent_id) AS agent_id,
        iif(side.n = 1, d.seq, 0) AS delivery_seq, iif(side.n <> 1 AND m.type = 'human', m.seq, 0) AS answered_seq,
        iif(m.conversation_id IS NULL, 'pair', 'conversation') AS kind,
        iif(m.conversation_id IS NULL, ${pair}, ${external} || '/' || m.conversation_id) AS key
      FROM messages AS m
      JOIN deliveries AS d ON d.seq = m.seq
      JOIN agent_numbers AS receiver ON receiver.n = d.inbox
      CROSS JOIN (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2) AS side
      WHERE ${chosen} AND m.channel_id IS NULL AND (side.n < 2
        OR (d.account_id <> m.account_id AND ${hasBeenIn('d.account_id', 'm.from_agent_id')}))) AS part
    CROSS JOIN threads ON ${ofThread('part')}
    WHERE true
    GROUP BY part.account_id, part.agent_id, threads.id
    ON CONFLICT (account_id, agent_id, thread_id) DO UPDATE SET
      delivery_seq = max(thread_agents.delivery_seq, excluded.delivery_seq),
      answered_seq = max(thread_agents.answered_seq, excluded.answered_seq)
    WHERE thread_agents.delivery_seq < excluded.delivery_seq OR thread_agents.answered_seq < excluded.answered_seq`
  return [grow, add, addReplies, addAgents].map((text) => crossAccountStatement(name, text))
}

const steps = placing('places of new messages', inBatch)
const total = crossAccountQuery<{ n: number }>('number of messages', `SELECT count(*) AS n FROM messages`)

const begin = statement(`UPDATE projections SET seq = -1 WHERE name = 'conversations'`)
const empty = [
  `DELETE FROM thread_messages
  WHERE (thread_id, seq) IN (SELECT thread_id, seq FROM thread_messages LIMIT :limit)
  RETURNING 1`,
  `UPDATE threads SET last_seq = 0, last_at = 0, messages = 0
  WHERE id IN (SELECT id FROM threads AS old WHERE old.last_seq <> 0 LIMIT :limit)
  RETURNING 1`,
  `DELETE FROM thread_agents
  WHERE (account_id, agent_id, thread_id) IN (SELECT account_id, agent_id, thread_id FROM thread_agents LIMIT :limit)
  RETURNING 1`,
].map((text) => crossAccountStatement('places to make again', text))
const restart = crossAccountStatement(
  'places to make again',
  `
  UPDATE projections SET seq = 0
  WHERE name = 'conversations' AND seq < 0 AND NOT EXISTS (SELECT 1 FROM thread_messages)
    AND NOT EXISTS (SELECT 1 FROM thread_agents) AND NOT EXISTS (SELECT 1 FROM threads WHERE last_seq <> 0)`,
)

export const conversations = (db: Db) => ({
  placed: async (): Promise<number> => (await db.one(total))!.n,
  /** Places a batch's messages, unless another process has already done so. */
  place: (batch: { after: number; upTo: number }): Statement[] =>
    steps.map((step) => ({
      ...db.bind(step, { ...batch, follower: 'conversations' }),
      rows: batch.upTo - batch.after,
      isTraffic: true,
    })),
  /** Starts placing all messages again. First, `empty` removes their positions. */
  startAgain: (): Statement => db.bind(begin),
  /** Removes up to `limit` positions per table. Once there are none, the follower restarts. */
  empty: (limit: number): Statement[] => [
    ...empty.map((step) => ({ ...db.bind(step, { limit }), rows: limit })),
    db.bind(restart),
  ],
})

export type LivePlaces = ReturnType<typeof livePlaces>

/** A message in an account's thread, with the data that decides who may read it. Contains no text. */
export interface LivePlace {
  accountId: string
  threadId: number
  seq: number
  at: number
  channelId: string | null
  fromAgentId: string
  /** The recipient. Null for a post, and for a message without a delivery. */
  toAgentId: string | null
}

// A unit stores messages' positions together with the follower's position, so all positions up to it are stored.
const newPlaces = crossAccountQuery<LivePlace>(
  'new places of watched accounts',
  `
  SELECT thread_messages.account_id, thread_messages.thread_id, thread_messages.seq, messages.created_at AS at,
    messages.channel_id, messages.from_agent_id, ${agentOf()} AS to_agent_id
  FROM thread_messages
  CROSS JOIN messages
  LEFT JOIN deliveries
    ON deliveries.seq = messages.seq
      AND messages.channel_id IS NULL
  WHERE thread_messages.account_id IN (SELECT value FROM json_each(:accounts)) AND thread_messages.seq > :after
    AND thread_messages.seq <= min(${positionOf('conversations')}, :upTo) AND messages.seq = thread_messages.seq
  ORDER BY thread_messages.seq LIMIT :limit`,
)

/** Messages placed in threads since a position, for accounts whose pages are open. */
export const livePlaces = (db: Db) => ({
  /** Messages of some accounts after one position and up to another, oldest first, at most `limit`. */
  after: (accounts: string[], after: number, upTo: number, limit: number): Promise<LivePlace[]> =>
    db.all(newPlaces, { accounts: JSON.stringify(accounts), after, upTo, limit }),
})
