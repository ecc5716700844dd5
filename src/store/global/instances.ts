/** The processes that serve this database, and the leases they hold. */
import { crossAccountQuery, type Db, query, type Statement, statement } from '../sql.ts'

/** How many leases one query returns. */
const maxLeases = 1_000

const all = query<{ id: string; heartbeats: number; present: string }>(`SELECT id, heartbeats, present FROM instances`)
const heartbeat = statement(`
  INSERT INTO instances (id, heartbeats, present, created_at) VALUES (:id, :heartbeats, :present, :at)
  ON CONFLICT (id) DO UPDATE SET heartbeats = excluded.heartbeats, present = excluded.present`)
const remove = statement(`DELETE FROM instances WHERE id = :id`)
const inFlight = crossAccountQuery<{
  accountId: string
  agentId: string
  id: string
  holder: string
  createdAt: number
  expiresAt: number | null
}>(
  'leases in flight',
  `
  SELECT account_id, agent_id, id, holder, created_at, expires_at FROM leases
  WHERE expires_at IS NULL OR expires_at <= :now
  ORDER BY created_at LIMIT ${maxLeases}`,
)

export const instances = (db: Db) => ({
  all: () => db.all(all),
  /**
   * Record the heartbeat of a process: a number that rises each time. `present` is JSON of who is at agents through it.
   */
  heartbeat: (id: string, heartbeats: number, present: string, at: number): Statement =>
    db.bind(heartbeat, { id, heartbeats, present, at }),
  remove: (id: string): Statement => db.bind(remove, { id }),
  /**
   * Leases of every account that have no expiry, because they end with their holder, or have expired at `now`. Oldest
   * first, at most 1,000. Only ids and times leave this query.
   */
  leases: (now: number) => db.all(inFlight, { now }),
})
