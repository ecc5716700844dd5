/** Copies a local file, checks copies, and counts their content. A server runs copying and checking on a thread. */
import type { Client } from '@libsql/client'
import { open } from 'node:fs/promises'
import { FileClient } from '../driver/file-client.ts'
import { releaseLocalFile } from '../driver/local-file.ts'
import { type Snapshot, snapshotOf } from '../driver/snapshot.ts'
import { sync } from './files.ts'
import { copyFacts, quoted, tableNames } from './tables.ts'

/** The description of a backup's database. Written before the database, and compared when it is restored. */
export interface Manifest extends Content {
  program: string
  madeAt: string
}

export interface Content {
  schema: number
  rows: Record<string, number>
  /** The ids of the keys with which stored tokens are encrypted. The keys themselves are not in a backup. */
  keys: string[]
}

const keyColumn = 'token_key_id'

export async function contentOf({ query }: Pick<Snapshot, 'query'>): Promise<Content> {
  const tables = await tableNames({ query })
  const rows: Record<string, number> = {}
  for (const table of tables) rows[table] = Number((await query(`SELECT count(*) FROM ${quoted(table)}`))[0][0])
  const [[ofCopies]] = await query(
    `SELECT count(*) FROM store_facts WHERE key IN (${copyFacts.map(() => '?')})`,
    copyFacts,
  )
  rows.store_facts -= Number(ofCopies)
  const keys = new Set<string>()
  for (const table of tables) {
    const columns = await query(`PRAGMA table_info(${quoted(table)})`)
    if (!columns.some(([, name]) => name === keyColumn)) continue
    const ids = await query(`SELECT DISTINCT ${keyColumn} FROM ${quoted(table)} WHERE ${keyColumn} IS NOT NULL`)
    for (const [id] of ids) keys.add(String(id))
  }
  return { schema: rows.__drizzle_migrations, rows, keys: [...keys].sort() }
}

/** Describes how the contents differ; undefined if they do not. */
export function difference(expected: Content, found: Content): string | undefined {
  const tables = new Set([...Object.keys(expected.rows), ...Object.keys(found.rows)])
  for (const table of tables) {
    if (expected.rows[table] !== found.rows[table]) {
      return `the table ${table} has ${found.rows[table] ?? 'no'} rows and not ${expected.rows[table] ?? 'none'}`
    }
  }
  return expected.schema === found.schema ? undefined : 'the schema is another one'
}

/**
 * Writes the state of one commit to a new SQLite file. Other connections continue to write, and the log grows.
 *
 * Only the other connection checkpoints the log, because this version of SQLite can lose commits when one connection
 * checkpoints while another writes. So this connection is never the last to close, unless it is the only one.
 */
export async function copyFile({ path, target }: { path: string; target: string }): Promise<void> {
  // The file is created before SQLite opens it, so that only its owner may read it.
  await (await open(target, 'wx', 0o600)).close()
  const client = new FileClient(path)
  try {
    await client.executeMultiple(`PRAGMA wal_autocheckpoint = 0; VACUUM INTO '${target.replaceAll("'", "''")}'`)
  } finally {
    client.close()
  }
  await sync(target)
}

/** Checks a complete copy, and counts its content. Fails with an error that describes what is wrong. */
export function checkCopy({ path }: { path: string }): Promise<Content> {
  return withDatabase(path, async (client) => {
    const { query } = snapshotOf(client)
    const [[found]] = await query('PRAGMA integrity_check(1)')
    if (found !== 'ok') throw new Error(`The copy of the database is damaged: ${found}`)
    const lost = await query('PRAGMA foreign_key_check')
    if (lost.length > 0) throw new Error(`The copy of the database has ${lost.length} rows with broken references`)
    return await contentOf({ query })
  })
}

export async function withDatabase<Result>(path: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new FileClient(path)
  try {
    return await work(client)
  } finally {
    await releaseLocalFile(client)
  }
}
