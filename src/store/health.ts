/** The facts of a database that `agent-grid doctor` judges. Nothing is changed. See docs/operations.md, "Doctor". */
import type { Client } from '@libsql/client'
import { minute } from '../lib/time.ts'
import { type Activity, firstBrokenRow } from './account/activity-chain.ts'
import { countDangling, findDamage, pageBytes, type WriteMode, writeMode } from './driver/integrity.ts'
import type { GlobalTables } from './global.ts'

/** What is looked at. */
export interface HealthSource {
  client: Client
  global: Pick<GlobalTables, 'activityHeads' | 'clock' | 'health' | 'instances' | 'sealedTokens' | 'threadProjection'>
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
  activity: {
    /** Rows that were verified, and whether these are all. */
    verified: number
    isComplete: boolean
    broken: { accountId: string; row: number }[]
  }
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
/** Rows of activity logs that are verified: the newest of each account. */
const rowsPerAccount = 1_000
const maxRows = 10_000
const pageRows = 1_000
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
    activity: await verifyActivity(global, isFull),
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

async function verifyActivity(global: HealthSource['global'], isFull: boolean): Promise<DatabaseHealth['activity']> {
  const broken: DatabaseHealth['activity']['broken'] = []
  let [verified, isComplete, after] = [0, true, '']
  for (;;) {
    const heads = await global.activityHeads.changed(0, after, pageRows)
    for (const { accountId, n } of heads) {
      if (!isFull && verified >= maxRows) return { verified, isComplete: false, broken }
      const from = isFull ? 0 : Math.max(0, n - rowsPerAccount)
      const found = await verifyLog(global, accountId, from)
      verified += found.rows
      if (from > 0) isComplete = false
      if (found.broken !== undefined) broken.push({ accountId, row: found.broken })
    }
    if (heads.length < pageRows) return { verified, isComplete, broken }
    after = heads[heads.length - 1].accountId
  }
}

/** Verify the rows after position `from`. The row at that position is believed. */
async function verifyLog({ health }: HealthSource['global'], accountId: string, from: number) {
  let rows = 0
  let last: Activity | undefined = from > 0 ? (await health.activityAfter(accountId, from - 1, 1))[0] : undefined
  for (let n = from > 0 ? from : Number.MIN_SAFE_INTEGER;;) {
    const page = await health.activityAfter(accountId, n, pageRows)
    const broken = firstBrokenRow(accountId, page, last)
    rows += page.length
    if (broken !== undefined || page.length < pageRows) return { rows, broken }
    last = page[page.length - 1]
    n = last.n
  }
}
