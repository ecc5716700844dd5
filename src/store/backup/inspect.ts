/** What a copy of a database contains, checked and counted. */
import type { Client } from '@libsql/client'
import { type Snapshot, snapshotOf } from '../driver/snapshot.ts'
import { copyFacts, quoted, tableNames } from './tables.ts'

/** Written in front of the database in a backup, and compared when it is restored. */
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

/**
 * Check a database (`integrity_check`, foreign keys) and count what is in it. It reads all of it, so not on a client whose
 * statements hold up others. Fails with an error that says what is wrong.
 */
export async function inspect(client: Pick<Client, 'execute'>): Promise<Content> {
  const { query } = snapshotOf(client)
  const [[found]] = await query('PRAGMA integrity_check(1)')
  if (found !== 'ok') throw new Error(`The copy of the database is damaged: ${found}`)
  const lost = await query('PRAGMA foreign_key_check')
  if (lost.length > 0) throw new Error(`The copy of the database has ${lost.length} rows that point nowhere`)

  return await contentOf({ query })
}

/** Count what is in a database. */
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
  return {
    schema: rows.__drizzle_migrations,
    rows,
    keys: [...keys].sort(),
  }
}

/** What differs, in words; undefined if nothing does. */
export function difference(expected: Content, found: Content): string | undefined {
  const tables = new Set([...Object.keys(expected.rows), ...Object.keys(found.rows)])
  for (const table of tables) {
    if (expected.rows[table] !== found.rows[table]) {
      return `the table ${table} has ${found.rows[table] ?? 'no'} rows and not ${expected.rows[table] ?? 'none'}`
    }
  }
  return expected.schema === found.schema ? undefined : 'the schema is another one'
}
