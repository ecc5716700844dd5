/** Timed leases, which their reader extends, acks and releases. See docs/delivery.md, "Leases of runners". */
import { inboxOf } from './inbox-message.ts'
import { endedLeaseDepth, isInLease, isLeased } from './leases.ts'
import { type AccountDb, precondition, query, type Statement, statement, traffic } from '../sql.ts'

/** Maximum number of expired leases found by one call. The worker releases all others. */
const maxExpired = 100
/** Maximum number of an agent's open timed leases. Each is a row that the worker checks. */
export const maxOpenLeases = 100

interface LeasedMessages {
  agent: string
  lease: string
  messages?: readonly string[]
}

/** The parts of ending a lease for some of its messages, which move to the lease `into`. */
interface EndParts {
  move: Statement
  /** Returns the column `n`: how many messages were acked or released. */
  ended: Statement
  close: Statement
  /** Returns the column `at`: when the last remaining lease expires, or null. */
  left: Statement
}

const isLive = `leases.agent_id = :agent AND leases.expires_at > :at`
const live = `leases.account_id = :account AND leases.id = :lease AND ${isLive}`
const isOpen = `EXISTS (SELECT 1 FROM leases WHERE ${live})`
const isNamed = `(:messages IS NULL OR EXISTS (SELECT 1 FROM messages WHERE messages.seq = deliveries.seq
  AND messages.id IN (SELECT value FROM json_each(:messages))))`

const open = query<{ expiresAt: number }>(`SELECT expires_at FROM leases WHERE ${live}`)
const byKey = query<{ id: string; expiresAt: number }>(`
  SELECT id, expires_at FROM leases WHERE account_id = :account AND key = :key AND ${isLive}`)
const lastExpiry = query<{ at: number | null }>(`
  SELECT max(expires_at) AS at FROM leases WHERE account_id = :account AND ${isLive}`)
const held = query<{ messageId: string }>(`
  SELECT messages.id AS message_id FROM deliveries JOIN messages ON messages.seq = deliveries.seq
  WHERE ${isLeased} AND ${isOpen}`)
const ofAgent = query<{ id: string; expiresAt: number }>(`
  SELECT id, expires_at FROM leases WHERE account_id = :account AND agent_id = :agent AND expires_at IS NOT NULL
  ORDER BY expires_at DESC LIMIT ${maxOpenLeases + maxExpired}`)

const extend = traffic(`UPDATE leases SET expires_at = :expiresAt WHERE ${live} RETURNING id`)
// Messages to release move to a separate lease, which is then released like any other.
const split = traffic(`
  INSERT INTO leases (account_id, agent_id, id, holder, created_at, expires_at, seqs)
  SELECT account_id, agent_id, :into, holder, created_at, expires_at, seqs FROM leases
  WHERE ${live} AND EXISTS (SELECT 1 FROM deliveries WHERE ${isLeased} AND ${isNamed})
  ON CONFLICT DO NOTHING`)
const move = traffic(`UPDATE deliveries SET lease_id = :into WHERE ${isLeased} AND ${isNamed} AND ${isOpen}`)
const close = traffic(`
  DELETE FROM leases WHERE ${live} AND NOT EXISTS (SELECT 1 FROM deliveries WHERE ${isLeased})`)
const released = statement(`SELECT count(*) AS n FROM deliveries WHERE ${isInLease(':into')} LIMIT 1`)
// A retried unit may find the lease closed. Then the messages are among the newest read messages.
const acked = statement(`
  SELECT coalesce(
    nullif((SELECT count(*) FROM deliveries WHERE ${isInLease(':into', ':lease')}), 0),
    (SELECT count(*) FROM (
      SELECT deliveries.lease_id FROM deliveries WHERE deliveries.inbox = ${inboxOf()} AND deliveries.state = 'read'
      ORDER BY deliveries.seq DESC LIMIT ${endedLeaseDepth}) WHERE lease_id = :into)) AS n
  LIMIT 1`)

// If the unit's message is already stored, the unit is a retry, and its first run ended the lease.
const requireHeld = precondition(`
  EXISTS (SELECT 1 FROM messages WHERE messages.account_id = :account AND messages.id = :id)
  OR (${isOpen} AND (SELECT count(*) FROM deliveries WHERE ${isLeased} AND ${isNamed})
    >= coalesce(json_array_length(:messages), 0))`)

const requireUntil = precondition(`EXISTS (
  SELECT 1 FROM leases WHERE leases.account_id = :account AND leases.id = :lease AND leases.expires_at = :expiresAt)`)

const listOf = (messages: readonly string[] | undefined) => messages ? JSON.stringify([...new Set(messages)]) : null

export const timedLeases = {
  reads: (account: AccountDb) => ({
    isOpen: async (agent: string, lease: string, at: number) =>
      (await account.one(open, { agent, lease, at })) !== undefined,
    /** The open lease that a send with this idempotency key created as `next`. */
    byKey: (agent: string, key: string, at: number) => account.one(byKey, { agent, key, at }),
    /** When the last of the agent's leases that are open at `at` expires. Null if none is open. */
    lastExpiry: async (agent: string, at: number) => (await account.one(lastExpiry, { agent, at }))?.at ?? null,
    /** The ids of leases open at `at`, and of expired leases that are not released yet. At most 200. */
    async ofAgent(agent: string, at: number): Promise<{ open: string[]; expired: string[] }> {
      const found = await account.all(ofAgent, { agent })
      const isOpen = ({ expiresAt }: { expiresAt: number }) => expiresAt > at
      const idsOf = (leases: typeof found) => leases.map(({ id }) => id)
      return { open: idsOf(found.filter(isOpen)), expired: idsOf(found.filter((lease) => !isOpen(lease))) }
    },
    messageIds: async (agent: string, lease: string, at: number) =>
      (await account.all(held, { agent, lease, at })).map(({ messageId }) => messageId),
  }),
  changes: (account: AccountDb) => ({
    /** Returns the column `id`, or no row if the lease has ended. */
    extend: (agent: string, lease: string, at: number, expiresAt: number) =>
      account.bind(extend, { agent, lease, at, expiresAt }),
    ack: ({ agent, lease, messages }: LeasedMessages, into: string, at: number): EndParts => ({
      move: {
        ...account.bind(move, { agent, lease, into, messages: listOf(messages), at }),
        rows: messages?.length ?? 50,
      },
      ended: { ...account.bind(acked, { agent, lease, into }), rows: 0 },
      close: account.bind(close, { agent, lease, at }),
      left: { ...account.bind(lastExpiry, { agent, at }), rows: 0 },
    }),
    /** Moves messages of a lease that is open at `at` to a separate lease, `into`, which can be released. */
    split: ({ agent, lease, messages }: LeasedMessages, into: string, at: number) => ({
      split: account.bind(split, { agent, lease, into, messages: listOf(messages), at }),
      move: { ...account.bind(move, { agent, lease, into, messages: listOf(messages), at }), rows: 50 },
      close: account.bind(close, { agent, lease, at }),
      ended: { ...account.bind(released, { agent, into }), rows: 0 },
    }),
    /** Fails the unit if the lease has ended or was extended since. */
    requireUntil: (lease: string, expiresAt: number) => account.bind(requireUntil, { lease, expiresAt }),
    /** Fails the unit unless the lease is open and holds the messages, or the message `id` is already stored. */
    requireHeld: ({ agent, lease, messages }: LeasedMessages, id: string, at: number) =>
      account.bind(requireHeld, { agent, lease, messages: listOf(messages), id, at }),
  }),
}
