/** The projection `threads`: the places of messages in conversations, and how many went from whom to whom. */
import type { Row } from '@libsql/client'
import { day, hour } from '../../lib/time.ts'
import {
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  type Query,
  query,
  type Statement,
  statement,
} from '../sql.ts'

/** The position of the projection; no row while it is being emptied. */
export const followed = `(SELECT projections.seq FROM projections
    WHERE projections.name = 'threads' AND projections.seq >= 0)`

/** What one unit did. */
interface Progress {
  /** Everything up to this message is taken in. */
  seq: number
  newest: number
}

// Each message has two sides. The second is the account of a recipient, if it is another one.
const isOwn = `side.n = 0`
const account = `iif(${isOwn}, m.account_id, d.account_id)`
/** A claim may have moved it to the account, or away from it. */
const hasBeenIn = (account: string, agent: string) =>
  `EXISTS (SELECT 1 FROM agents WHERE agents.account_id = ${account} AND agents.id = ${agent})`
const sender = `iif(${hasBeenIn(account, 'm.from_agent_id')}, '', m.from_agent_id)`
const stranger = `iif(${isOwn} AND NOT ${hasBeenIn('m.account_id', 'd.agent_id')}, d.agent_id, ${sender})`
const pair = `iif(m.from_agent_id < d.agent_id,
    m.from_agent_id || ' ' || d.agent_id, d.agent_id || ' ' || m.from_agent_id)`
const places = (chosen: string) => `
    SELECT m.seq, m.created_at, m.account_id AS home, m.from_agent_id AS sender, m.reply_to_message_id AS reply_to,
      ${account} AS account_id,
      CASE WHEN m.channel_id IS NOT NULL THEN 'channel'
        WHEN m.conversation_id IS NOT NULL THEN 'conversation' ELSE 'pair' END AS kind,
      CASE WHEN m.channel_id IS NOT NULL THEN m.channel_id
        WHEN m.conversation_id IS NOT NULL THEN ${stranger} || '/' || m.conversation_id ELSE ${pair} END AS key,
      m.type, iif(${isOwn}, m.from_agent_id, '@' || m.from_alias) AS source,
      CASE WHEN m.channel_id IS NOT NULL THEN m.channel_id
        WHEN ${account} = d.account_id THEN d.agent_id ELSE m.recipient END AS target
    FROM messages AS m
    LEFT JOIN deliveries AS d
      ON d.message_id = m.id AND d.sender_account_id = m.account_id AND m.channel_id IS NULL
    CROSS JOIN (SELECT 0 AS n UNION ALL SELECT 1) AS side
    WHERE ${chosen} AND (m.channel_id IS NOT NULL OR d.seq IS NOT NULL) AND (${isOwn} OR d.account_id <> m.account_id)`
const ofThread = (place: string) =>
  `threads.account_id = ${place}.account_id AND threads.kind = ${place}.kind AND threads.key = ${place}.key`
const placed = (chosen: string, parent: string) => `
    SELECT place.account_id, threads.id AS thread_id, place.seq, CAST(${parent} AS INTEGER) AS parent
    FROM (${places(chosen)}) AS place CROSS JOIN threads ON ${ofThread('place')}`
const parent = `coalesce(
      (SELECT asked.seq FROM messages AS asked WHERE asked.account_id = place.home AND asked.id = place.reply_to),
      (SELECT asked.seq FROM deliveries AS got
        JOIN messages AS asked ON asked.account_id = got.sender_account_id AND asked.id = got.message_id
        WHERE got.message_id = place.reply_to AND got.account_id = place.home AND got.agent_id = place.sender))`

/** How long the counts of hours and of days are kept. */
export const edgesKeptMs = { [hour]: day + hour, [day]: 8 * day }
const periods = Object.entries(edgesKeptMs).map(([ms, kept]) => `SELECT ${ms} AS ms, ${kept} AS kept`)
// Made again, it has no counts that are too old.
const count = (chosen: string) => `
    INSERT INTO edges (account_id, period_ms, at, source, target, messages, answers, answer_ms, last_at)
    SELECT place.account_id, period.ms, place.created_at - place.created_at % period.ms AS start,
      place.source, place.target, count(*), count(asked.seq),
      coalesce(sum(max(0, place.created_at - asked.created_at)), 0), max(place.created_at)
    FROM (${places(chosen)}) AS place CROSS JOIN (${periods.join(' UNION ALL ')}) AS period
    LEFT JOIN messages AS asked ON asked.account_id = place.home AND asked.id = place.reply_to
    WHERE place.type <> 'system' AND place.created_at > (
      SELECT newest.created_at FROM messages AS newest
      WHERE newest.seq = (SELECT max(last.seq) FROM messages AS last)) - period.kept
    GROUP BY place.account_id, period.ms, start, place.source, place.target
    ON CONFLICT (account_id, period_ms, source, target, at) DO UPDATE SET
      messages = edges.messages + excluded.messages, answers = edges.answers + excluded.answers,
      answer_ms = edges.answer_ms + excluded.answer_ms, last_at = max(edges.last_at, excluded.last_at)`

/** The statements that place messages in threads and count them, cross-account ones. `chosen` is a condition on `messages AS m`. */
export function placing(name: string, chosen: string): Query<Row>[] {
  // The time is that of the row that has the newest message: so SQLite takes a column together with max().
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
  // From the first reply of each chain on, so that each is looked at once however long the chain is.
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
  // A sender in its own account, a recipient in its own, and there a sender that a claim has moved to it.
  const addAgents = `
    INSERT INTO thread_agents (account_id, agent_id, thread_id, delivery_seq, answered_seq)
    SELECT part.account_id, part.agent_id, threads.id, max(part.delivery_seq), max(part.answered_seq)
    FROM (
      SELECT ${account} AS account_id, iif(side.n = 1, d.agent_id, m.from_agent_id) AS agent_id,
        iif(side.n = 1, d.seq, 0) AS delivery_seq, iif(side.n <> 1 AND m.type = 'human', m.seq, 0) AS answered_seq,
        iif(m.conversation_id IS NULL, 'pair', 'conversation') AS kind,
        iif(m.conversation_id IS NULL, ${pair}, ${stranger} || '/' || m.conversation_id) AS key
      FROM messages AS m
      JOIN deliveries AS d ON d.message_id = m.id AND d.sender_account_id = m.account_id
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
  // With the condition SQLite looks into an index.
  const existWebhooks = `EXISTS (SELECT 1 FROM webhooks WHERE webhooks.account_id > '')`
  const tell = `
    INSERT INTO webhook_events (account_id, webhook_id, id, type, at, data)
    SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'message', place.created_at,
      json_object('message_id', said.id, 'from', '@' || said.from_alias, 'to', said.recipient,
        'conversation_id', said.conversation_id, 'reply_to', said.reply_to_message_id)
    FROM (${places(`${chosen} AND ${existWebhooks}`)}) AS place
    CROSS JOIN webhooks ON webhooks.account_id = place.account_id
    CROSS JOIN messages AS said ON said.seq = place.seq
    WHERE webhooks.paused_at IS NULL AND instr(webhooks.events, '"message"') > 0
      AND webhooks.message_seq < place.seq AND webhooks.created_at <= place.created_at
    ORDER BY place.seq`
  const told = `
    UPDATE webhooks SET message_seq = max(message_seq, (SELECT max(m.seq) FROM messages AS m WHERE ${chosen}))
    WHERE account_id IN (SELECT place.account_id FROM (${places(`${chosen} AND ${existWebhooks}`)}) AS place)`
  return [grow, add, addReplies, addAgents, count(chosen), tell, told].map((text) => crossAccountStatement(name, text))
}

const first = `(SELECT min(seq) FROM messages AS next WHERE next.seq > ${followed})`
const end = `${first} + :limit`
const steps = placing('places of new messages', `m.seq >= ${first} AND m.seq < ${end}`)
const advance = crossAccountStatement(
  'places of new messages',
  `
  UPDATE projections SET seq = (SELECT max(seq) FROM messages AS taken WHERE taken.seq < ${end})
  WHERE name = 'threads' AND ${first} IS NOT NULL`,
)
const position = crossAccountQuery<Progress>(
  'newest message',
  `
  SELECT seq, coalesce((SELECT max(newest.seq) FROM messages AS newest), 0) AS newest FROM projections
  WHERE name = 'threads'`,
)
const total = crossAccountQuery<{ n: number }>('number of messages', `SELECT count(*) AS n FROM messages`)

const begin = statement(`UPDATE projections SET seq = -1 WHERE name = 'threads'`)
const empty = [
  `DELETE FROM thread_messages
  WHERE (account_id, thread_id, seq) IN (SELECT account_id, thread_id, seq FROM thread_messages LIMIT :limit)
  RETURNING 1`,
  `UPDATE threads SET last_seq = 0, last_at = 0, messages = 0
  WHERE id IN (SELECT id FROM threads AS old WHERE old.last_seq <> 0 LIMIT :limit)
  RETURNING 1`,
  `DELETE FROM thread_agents
  WHERE (account_id, agent_id, thread_id) IN (SELECT account_id, agent_id, thread_id FROM thread_agents LIMIT :limit)
  RETURNING 1`,
  `DELETE FROM edges
  WHERE (account_id, period_ms, source, target, at) IN (SELECT account_id, period_ms, source, target, at FROM edges LIMIT :limit)
  RETURNING 1`,
].map((text) => crossAccountStatement('places to make again', text))
const restart = crossAccountStatement(
  'places to make again',
  `
  UPDATE projections SET seq = 0
  WHERE name = 'threads' AND seq < 0 AND NOT EXISTS (SELECT 1 FROM thread_messages)
    AND NOT EXISTS (SELECT 1 FROM thread_agents) AND NOT EXISTS (SELECT 1 FROM edges) AND NOT EXISTS (SELECT 1 FROM threads WHERE last_seq <> 0)
  RETURNING 1`,
)

export const threadProjection = (db: Db) => ({
  placed: async (): Promise<number> => (await db.one(total))!.n,
  position: async (): Promise<Progress> => (await db.one(position))!,
  /** Take in the messages with the next `limit` numbers, as one unit. Each message is taken in once, by any process. */
  follow: (limit: number): Statement[] => [
    ...steps.map((step) => ({ ...db.bind(step, { limit }), rows: limit, isTraffic: true })),
    { ...db.bind(advance, { limit }), isTraffic: true },
  ],
  /** Begin to make the projection again: from now on it is emptied. */
  startAgain: (): Statement => db.bind(begin),
  /** Empty some more of it, at most `limit` rows of each table. Returns no rows once it is empty and begins anew. */
  empty: (limit: number): Statement[] => [
    ...empty.map((step) => ({ ...db.bind(step, { limit }), rows: limit })),
    db.bind(restart),
  ],
})

export type LivePlaces = ReturnType<typeof livePlaces>

/** A message in a thread of an account, with what decides about who may read it. No text. */
export interface LivePlace {
  accountId: string
  threadId: number
  seq: number
  at: number
  channelId: string | null
  fromAgentId: string
  /** The recipient; null for a post, and for a message without a delivery. */
  toAgentId: string | null
}

const positionOfPlaces = query<{ seq: number }>(`SELECT seq FROM projections WHERE name = 'threads'`)
// The places of one unit appear with its position, so what is not beyond the position is complete.
const newPlaces = crossAccountQuery<LivePlace>(
  'new places of watched accounts',
  `
  SELECT thread_messages.account_id, thread_messages.thread_id, thread_messages.seq, messages.created_at AS at,
    messages.channel_id, messages.from_agent_id, deliveries.agent_id AS to_agent_id
  FROM json_each(:accounts) AS watched
  CROSS JOIN thread_messages
  CROSS JOIN messages
  LEFT JOIN deliveries
    ON deliveries.message_id = messages.id AND deliveries.sender_account_id = messages.account_id
      AND messages.channel_id IS NULL
  WHERE thread_messages.account_id = watched.value AND thread_messages.seq > :after
    AND thread_messages.seq <= min(${followed}, :upTo) AND messages.seq = thread_messages.seq
  ORDER BY thread_messages.seq LIMIT :limit`,
)

/** Messages that were placed in threads since a position of the log, for the accounts whose pages are open. */
export const livePlaces = (db: Db) => ({
  /** How far messages are placed; negative while all of them are placed again. */
  position: async (): Promise<number> => (await db.one(positionOfPlaces))!.seq,
  /** The places of some accounts after a position and up to another one, oldest first, at most `limit`. */
  after: (accounts: string[], after: number, upTo: number, limit: number): Promise<LivePlace[]> =>
    db.all(newPlaces, { accounts: JSON.stringify(accounts), after, upTo, limit }),
})
