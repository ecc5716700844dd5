/** The queries of a process's loop: the ends of the log, each follower's position, and the due times. */
import { hour } from '../../lib/time.ts'
import { crossAccountQuery, crossAccountStatement, type Db, query, type Statement, statement } from '../sql.ts'
import { isOpen, type OutboxKind, outboxTables } from './outboxes.ts'

/** A working task's client is notified after this time without an event. */
export const quietMs = hour

/** The followers with stored positions. One process at a time advances each of them. */
export const messageFollowers = ['conversations', 'traffic', 'search', 'webhook messages', 'browser messages'] as const
export const eventFollowers = ['webhook events', 'browser events', 'task notices'] as const
/** Followers whose tables are derived from messages alone and can be rebuilt. */
export const rebuiltFollowers = ['conversations', 'traffic', 'search'] as const satisfies readonly StoredFollower[]
export type StoredFollower = (typeof messageFollowers)[number] | (typeof eventFollowers)[number]

/** Whether the follower reads the table `log` instead of messages. */
export function isEventFollower(name: StoredFollower): boolean {
  return (eventFollowers as readonly string[]).includes(name)
}

/** Duties with stored due times. */
export type StoredDuty =
  | 'expiry'
  | 'held messages'
  | 'tasks'
  | OutboxTime
  | 'notices'
  | 'digests'
  | 'pauses'
  | 'reservations'
  | 'scheduled messages'
/** The time at which the first outbox of a kind is due. */
export type OutboxTime = `${OutboxKind} outboxes`

export interface Pulse {
  /** The number of the newest message, and the number of the newest row in the table `log`. */
  messages: number
  events: number
  /** The position of each follower. */
  positions: ReadonlyMap<StoredFollower, number>
  /** The next due time of each duty that has one. */
  due: ReadonlyMap<StoredDuty, number>
}

const firstOutbox = (kind: OutboxKind) =>
  `SELECT min(outbox.due_at) FROM ${outboxTables[kind]} AS outbox WHERE outbox.due_at IS NOT NULL AND ${isOpen[kind]}`
const times: Record<StoredDuty, string> = {
  expiry: `SELECT min(expires_at) FROM deliveries WHERE state = 'unread' AND expires_at IS NOT NULL`,
  'held messages': `SELECT min(expires_at) FROM held_messages WHERE state = 'held'`,
  tasks: `SELECT min(at) FROM (
    SELECT min(expires_at) AS at FROM tasks WHERE expires_at IS NOT NULL
    UNION ALL SELECT min(status_at) + ${quietMs} FROM tasks WHERE state = 'working' AND NOT quiet AND mode = 'task')`,
  'inbox outboxes': firstOutbox('inbox'),
  'task outboxes': firstOutbox('task'),
  'push outboxes': firstOutbox('push'),
  'webhook outboxes': firstOutbox('webhook'),
  notices: `SELECT min(due_at) FROM push_notices WHERE due_at IS NOT NULL`,
  digests: `SELECT min(next_at) FROM mail_digests`,
  pauses: `SELECT min(paused_at) FROM conversation_turns WHERE paused_at IS NOT NULL AND notified_at IS NULL`,
  'scheduled messages': `SELECT min(send_at) FROM scheduled_messages`,
  reservations: `SELECT min(ends_at) FROM reservations`,
}

const pulse = crossAccountQuery<{ kind: 'end' | 'position' | 'due'; name: string; value: number | null }>(
  'pulse',
  [
    `SELECT 'end' AS kind, 'messages' AS name, (SELECT max(seq) FROM messages) AS value`,
    `SELECT 'end', 'events', (SELECT max(seq) FROM log)`,
    `SELECT 'position', name, seq FROM projections`,
    ...Object.entries(times).map(([duty, time]) => `SELECT 'due', '${duty}', (${time})`),
  ].join(' UNION ALL '),
)

const move = statement(`UPDATE projections SET seq = :upTo WHERE name = :follower AND seq = :after`)
/** Condition: the follower `:follower` is still at `:after`. For statements that must not run twice. */
export const isAtPosition = `(SELECT projections.seq FROM projections WHERE projections.name = :follower) = :after`

const nextMessages = crossAccountQuery<{ upTo: number | null }>(
  'newest message of a batch',
  `SELECT max(seq) AS up_to FROM (SELECT seq FROM messages WHERE seq > :after AND seq <= :end ORDER BY seq LIMIT :limit)`,
)
// Reading the texts here costs little, because they are soon read again, from memory.
const nextTexts = crossAccountQuery<{ upTo: number | null }>(
  'newest message of a batch',
  `SELECT max(seq) AS up_to FROM (
    SELECT seq, sum(chars) OVER (ORDER BY seq) - chars AS chars_before FROM (
      SELECT seq, length(body) AS chars FROM messages WHERE seq > :after AND seq <= :end ORDER BY seq LIMIT :limit))
  WHERE chars_before < :chars`,
)
/** The number of messages whose texts can be read together, regardless of their length. */
const fewTexts = 25
const nextEvents = query<{ upTo: number | null }>(
  `SELECT max(seq) AS up_to FROM (SELECT seq FROM log WHERE seq > :after AND seq <= :end ORDER BY seq LIMIT :limit)`,
)

const skips = {
  messages: `SELECT account_id, :follower, seq, :reason, :at FROM messages WHERE seq > :after AND seq <= :upTo`,
  log: `SELECT home, :follower, seq, :reason, :at FROM log WHERE seq > :after AND seq <= :upTo AND home IS NOT NULL`,
}
const [skipMessage, skipEvent] = [skips.messages, skips.log].map((rows) =>
  crossAccountStatement(
    'row that a follower leaves out',
    `INSERT INTO skipped_rows (account_id, follower, seq, reason, at) ${rows} ON CONFLICT DO NOTHING`,
  )
)

const ofFollowers = 'follower IN (SELECT value FROM json_each(:followers))'
const skipped = crossAccountQuery<{ rows: number }>(
  'rows that followers left out',
  `SELECT count(*) AS rows FROM skipped_rows WHERE ${ofFollowers}`,
)
const forgetSkipped = crossAccountStatement(
  'rows that followers left out',
  `DELETE FROM skipped_rows WHERE ${ofFollowers}`,
)
const forget = statement(`DELETE FROM projections WHERE name NOT IN (SELECT value FROM json_each(:followers))`)
const begin = statement(`
  INSERT INTO projections (name, seq)
  SELECT value, coalesce((SELECT sqlite_sequence.seq FROM sqlite_sequence
    WHERE sqlite_sequence.name = iif(value IN (SELECT value FROM json_each(:ofEvents)), 'log', 'messages')), 0)
  FROM json_each(:followers) WHERE 1 ON CONFLICT DO NOTHING`)

// Uses the database's clock, because processes' clocks may differ.
const trim = statement(`
  DELETE FROM log WHERE at < (unixepoch() - 60) * 1000
    AND seq <= (SELECT min(seq) FROM projections WHERE name IN (SELECT value FROM json_each(:followers)))`)

export type Pulses = ReturnType<typeof pulses>

export const pulses = (db: Db) => ({
  async read(): Promise<Pulse> {
    const rows = await db.all(pulse)
    const of = (kind: 'position' | 'due') =>
      new Map(rows.flatMap((row) => row.kind === kind && row.value !== null ? [[row.name, row.value]] : []))
    const end = (name: string) => rows.find((row) => row.kind === 'end' && row.name === name)?.value ?? 0
    return {
      messages: Math.max(0, end('messages')),
      events: end('events'),
      positions: of('position') as Pulse['positions'],
      due: of('due') as Pulse['due'],
    }
  },
  /** The number of the last of the next `limit` messages after `after`, or `end` if there are none. */
  nextMessages: async (after: number, end: number, limit: number): Promise<number> =>
    end - after <= limit ? end : (await db.one(nextMessages, { after, end, limit }))?.upTo ?? end,
  /** Like `nextMessages`, for messages with about `chars` characters in total. */
  nextTexts: async (after: number, end: number, { limit, chars }: { limit: number; chars: number }): Promise<number> =>
    end - after <= Math.min(limit, fewTexts)
      ? end
      : (await db.one(nextTexts, { after, end, limit, chars }))?.upTo ?? end,
  /** Like `nextMessages`, for rows of the table `log`. */
  nextEvents: async (after: number, end: number, limit: number): Promise<number> =>
    end - after <= limit ? end : (await db.one(nextEvents, { after, end, limit }))?.upTo ?? end,
  /** Advances a follower if it is still at `after`. */
  move: (follower: StoredFollower, after: number, upTo: number): Statement => ({
    ...db.bind(move, { follower, after, upTo }),
    isTraffic: true,
  }),
  /** Records the rows of a batch that a follower skips, for the accounts to which they belong. */
  skip: (
    follower: StoredFollower,
    { after, upTo }: { after: number; upTo: number },
    { from, reason, at }: { from: 'messages' | 'log'; reason: string; at: number },
  ): Statement => db.bind(from === 'messages' ? skipMessage : skipEvent, { follower, after, upTo, reason, at }),
  /** The number of rows that these followers skipped in the last week. */
  skipped: async (followers: readonly StoredFollower[]): Promise<number> =>
    (await db.one(skipped, { followers: JSON.stringify(followers) }))!.rows,
  forgetSkipped: (followers: readonly StoredFollower[]): Statement =>
    db.bind(forgetSkipped, { followers: JSON.stringify(followers) }),
  /** Removes the positions of all other followers. A new follower among these starts at the end of the log. */
  keep: (followers: readonly StoredFollower[]): Statement[] => [
    db.bind(forget, { followers: JSON.stringify(followers) }),
    db.bind(begin, {
      followers: JSON.stringify(followers),
      ofEvents: JSON.stringify(followers.filter(isEventFollower)),
    }),
  ],
  /** Removes the log rows that all of these followers have passed. */
  trim: (followers: readonly StoredFollower[]): Statement => ({
    ...db.bind(trim, { followers: JSON.stringify(followers.filter(isEventFollower)) }),
    rows: 100,
  }),
})
