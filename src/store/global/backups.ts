import type { Row } from '@libsql/client'
import { crossAccountQuery, type Db, query, type Statement, statement } from '../sql.ts'

/** The facts' keys for the newest backup and the newest failed one. Their values are JSON. */
const [madeKey, failedKey] = ['backup', 'backup_failed']
/** When the last scheduled backup began, in milliseconds since the epoch; see `claim`. */
const claimedKey = 'backup_claimed'

interface MadeBackup {
  at: number
  file: string
  bytes: number
  /** The number of migration steps that the database had. */
  schema: number
}

interface FailedBackup {
  at: number
  reason: string
  /** The process that makes the backup, while it is unfinished. */
  process?: string
}

export interface BackupHistory {
  made?: MadeBackup
  /** Absent if a newer backup was made. */
  failed?: FailedBackup
}

const stored = query<{ key: string; value: string }>(`
  SELECT key, value FROM store_facts WHERE key IN ('${madeKey}', '${failedKey}')`)
const note = statement(`
  INSERT INTO store_facts (key, value) VALUES (:key, :value)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`)
const forget = statement(`DELETE FROM store_facts WHERE key = '${failedKey}'`)
const claim = statement(`
  INSERT INTO store_facts (key, value) VALUES ('${claimedKey}', :at)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value
  WHERE abs(CAST(store_facts.value AS integer) - :now) >= :waitMs
  RETURNING key`)

/** When the database was last backed up, and why the last attempt failed. */
export const backups = (db: Db) => ({
  async history(): Promise<BackupHistory> {
    const facts = new Map((await db.all(stored)).map(({ key, value }) => [key, value]))
    const read = (key: string) => facts.has(key) ? JSON.parse(facts.get(key)!) : undefined
    const made: MadeBackup | undefined = read(madeKey)
    const failed: FailedBackup | undefined = read(failedKey)
    return { made, failed }
  },
  /** Stores the backup and clears the failed one. */
  noteMade: (made: MadeBackup): Statement[] => [
    db.bind(note, { key: madeKey, value: JSON.stringify(made) }),
    db.bind(forget),
  ],
  noteFailed: (failed: FailedBackup): Statement => db.bind(note, { key: failedKey, value: JSON.stringify(failed) }),
  /** Claims the next scheduled backup. Returns a row if none was claimed for `waitMs`. */
  claim: (now: number, waitMs: number): Statement => db.bind(claim, { at: String(now), now, waitMs }),
})

/** The key of the fact with the latest time at which a process of this database trusted its clock. */
const clockKey = 'clock'

const storedTime = query<{ value: string }>(`SELECT value FROM store_facts WHERE key = '${clockKey}'`)
const advance = statement(`
  INSERT INTO store_facts (key, value) VALUES ('${clockKey}', :at)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value
  WHERE CAST(excluded.value AS integer) > CAST(store_facts.value AS integer)`)
const withTrials = crossAccountQuery<{ id: string }>(
  'accounts with trials to end',
  `
  SELECT account_id AS id FROM trials WHERE ended_at IS NULL AND expires_at <= :until
  ORDER BY expires_at LIMIT :limit`,
)

/** The latest stored time, to detect a clock that jumped. See docs/delivery.md, "Clocks". */
export const clock = (db: Db) => ({
  async storedAt(): Promise<number | undefined> {
    const row = await db.one(storedTime)
    return row && Number(row.value)
  },
  /** Stores a time if it is later than the stored time. */
  advance: (at: number): Statement => db.bind(advance, { at: String(at) }),
  /** The accounts of the first `limit` trials that expired by `until` and have not ended. */
  async accountsWithTrials(until: number, limit: number) {
    return new Set((await db.all(withTrials, { until, limit })).map(({ id }) => id))
  },
})

const maxLeases = 1_000

interface Instance {
  id: string
  heartbeats: number
  present: string
  ring: string
}

const all = query<Instance>(
  `SELECT id, heartbeats, present, ring FROM instances`,
)
const heartbeat = statement(`
  INSERT INTO instances (id, heartbeats, present, ring, created_at) VALUES (:id, :heartbeats, :present, :ring, :at)
  ON CONFLICT (id) DO UPDATE SET heartbeats = excluded.heartbeats, present = excluded.present`)
const remove = statement(`DELETE FROM instances WHERE id = :id`)
const leaseColumns = ['account_id', 'agent_id', 'id', 'holder', 'created_at', 'expires_at']
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
  SELECT ${leaseColumns.join(', ')} FROM leases
  WHERE expires_at IS NULL OR expires_at <= :now
  ORDER BY created_at LIMIT ${maxLeases}`,
)

/** Converts the rows of a heartbeat's third statement to leases. */
export function leasesOf(rows: Row[]) {
  return inFlight.rows({ columns: leaseColumns, rows })
}

/** Converts the row of a process. */
export function instanceOf({ id, heartbeats, present, ring }: Instance) {
  return { id, heartbeats, present, keyIds: ring.split(',').filter((id) => id !== '') }
}

export const instances = (db: Db) => ({
  all: async () => (await db.all(all)).map(instanceOf),
  /**
   * Records a heartbeat, which is a rising number. `present` is JSON of the agents' presence in this process. The
   * second statement returns the rows of all processes, for `instanceOf`. The third returns the rows that `leases`
   * finds, for `leasesOf`.
   */
  heartbeat: (id: string, heartbeats: number, present: string, keyIds: readonly string[], at: number): Statement[] => [
    db.bind(heartbeat, { id, heartbeats, present, ring: keyIds.join(), at }),
    db.bind(all),
    db.bind(inFlight, { now: at }),
  ],
  remove: (id: string): Statement => db.bind(remove, { id }),
  /** Leases without an expiry, and leases expired at `now`. Oldest first, at most 1,000. Returns only ids and times. */
  leases: (now: number) => db.all(inFlight, { now }),
})
