/** The facts of a database that `agent-grid doctor` judges. Nothing is changed. See docs/operations.md, "Doctor". */
import type { Client } from '@libsql/client'
import { countDangling, findDamage, pageBytes, type WriteMode, writeMode } from './driver/integrity.ts'
import type { GlobalTables } from './global.ts'

/** What is looked at. */
export interface HealthSource {
  client: Client
  global: Pick<GlobalTables, 'clock' | 'sealedTokens'>
  isLocal: boolean
  /** Whether other calls wait for this process. */
  isServer: boolean
  now: () => number
}

export interface DatabaseHealth {
  /** Null for a remote database. */
  writeMode: WriteMode | null
  /** What is damaged, and how many rows point nowhere; null if the database is too large to be read whole. */
  damage: string[] | null
  danglingRows: number | null
  /** The latest time that was stored, in milliseconds. */
  storedAt: number | null
  /** The time of the process that answers. */
  now: number
  /** How many stored tokens need each key. */
  keys: { key: string; tokens: number }[]
}

/** A database of up to this size is read whole: in about a second, or in some 30 ms in a server. */
const wholeBytes = 256 * 2 ** 20
const wholeBytesServed = 16 * 2 ** 20

/** Read the facts. With `isFull` everything is read, which may take minutes; not for a server, in which others wait. */
export async function readHealth(source: HealthSource, isFull: boolean): Promise<DatabaseHealth> {
  const { client, global, isLocal, isServer, now } = source
  const isRead = isLocal && (isFull || await pageBytes(client) <= (isServer ? wholeBytesServed : wholeBytes))
  return {
    writeMode: isLocal ? await writeMode(client) : null,
    damage: isRead ? await findDamage(client, isFull) : null,
    danglingRows: isRead ? await countDangling(client) : null,
    storedAt: await global.clock.storedAt() ?? null,
    now: now(),
    keys: await keysOf(global),
  }
}

async function keysOf({ sealedTokens }: HealthSource['global']): Promise<DatabaseHealth['keys']> {
  const tokens = new Map<string, number>()
  for (const table of sealedTokens) {
    for (const { key, tokens: count } of await table.byKey()) tokens.set(key, (tokens.get(key) ?? 0) + count)
  }
  return [...tokens].map(([key, tokens]) => ({ key, tokens }))
}
