/** The facts of a database that `agent-grid doctor` judges. Nothing is changed. See docs/operations.md, "Doctor". */
import type { Client } from '@libsql/client'
import { minute } from '../lib/time.ts'
import { countDangling, findDamage, pageBytes, type WriteMode, writeMode } from './driver/integrity.ts'
import type { GlobalTables } from './global.ts'

/** What is looked at. */
export interface HealthSource {
  client: Client
  global: Pick<GlobalTables, 'clock' | 'health' | 'instances' | 'sealedTokens' | 'threadProjection'>
  isLocal: boolean
  /** The id of the process that serves the local file; undefined if none does. */
  servedBy: string | undefined
  now: () => number
}

export interface DatabaseHealth {
  /** Null for a remote database. */
  writeMode: WriteMode | null
  bytes: number
  unusedBytes: number
  /** What is damaged, and how many rows point nowhere; null if the database is too large to be read whole. */
  damage: string[] | null
  danglingRows: number | null
  /** The latest time that was stored, in milliseconds. */
  storedAt: number | null
  /** The time of the process that answers. */
  now: number
  /** How many stored tokens need each key. */
  keys: { key: string; tokens: number }[]
  oldestUnread: { accountId: string; alias: string; createdAt: number } | null
  /** Leases that no process will end, and since when the oldest lasts. */
  deadLeases: { count: number; since: number | null }
  /** Messages that are not placed in conversations yet. */
  toPlace: number
  accounts: {
    id: string
    name: string
    agents: number
    messages: number
    activityRows: number
    bytesOfWeek: number
  }[]
}

/** A database of up to this size is read whole: in about a second, or in some 30 ms in a server. */
const wholeBytes = 256 * 2 ** 20
const wholeBytesServed = 16 * 2 ** 20
/** The worker looks for dead leases several times a minute. */
const leaseGraceMs = 5 * minute

/** Read the facts. With `isFull` everything is read, which may take minutes; not for a server, in which others wait. */
export async function readHealth(source: HealthSource, isFull: boolean): Promise<DatabaseHealth> {
  const { client, global, isLocal, servedBy, now } = source
  const size = isLocal ? await pageBytes(client) : { bytes: 0, unusedBytes: 0 }
  const isRead = isLocal && (isFull || size.bytes <= (servedBy === undefined ? wholeBytes : wholeBytesServed))
  const { seq, newest } = await global.threadProjection.position()
  return {
    writeMode: isLocal ? await writeMode(client) : null,
    ...size,
    damage: isRead ? await findDamage(client, isFull) : null,
    danglingRows: isRead ? await countDangling(client) : null,
    storedAt: await global.clock.storedAt() ?? null,
    now: now(),
    keys: await keysOf(global),
    oldestUnread: await global.health.oldestUnread() ?? null,
    deadLeases: await deadLeases(source),
    toPlace: Math.max(0, newest - Math.max(0, seq)),
    accounts: await global.health.sizes(),
  }
}

async function keysOf({ sealedTokens }: HealthSource['global']): Promise<DatabaseHealth['keys']> {
  const tokens = new Map<string, number>()
  for (const table of sealedTokens) {
    for (const { key, tokens: count } of await table.byKey()) tokens.set(key, (tokens.get(key) ?? 0) + count)
  }
  return [...tokens].map(([key, tokens]) => ({ key, tokens }))
}

/** A lease without an expiry ends with its holder. Those of a file that nobody serves are released at the next start. */
async function deadLeases({ global: { instances }, isLocal, servedBy, now }: HealthSource) {
  if (isLocal && servedBy === undefined) return { count: 0, since: null }
  const at = now()
  const living = new Set((await instances.all()).map(({ id }) => id))
  const dead = (await instances.leases(at)).filter(({ holder, createdAt, expiresAt }) => {
    if (expiresAt !== null) return expiresAt < at - leaseGraceMs
    return createdAt < at - leaseGraceMs && (isLocal ? holder !== servedBy : !living.has(holder))
  })
  return { count: dead.length, since: dead[0]?.createdAt ?? null }
}
