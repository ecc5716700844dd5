/** What SQLite itself tells of a database. */
import type { Client } from '@libsql/client'

/** How a local file is written, as SQLite has it in force. */
export interface WriteMode {
  /** `wal`. */
  journal: string
  /** 2: each commit is fsynced. */
  synchronous: number
}

/** The pragmas that decide whether an acknowledged message is on disk. */
export async function writeMode(client: Client): Promise<WriteMode> {
  return {
    journal: String(await pragma(client, 'journal_mode')),
    synchronous: Number(await pragma(client, 'synchronous')),
  }
}

/** The bytes of the pages of a database. */
export async function pageBytes(client: Client): Promise<number> {
  return Number(await pragma(client, 'page_count')) * Number(await pragma(client, 'page_size'))
}

/**
 * What is damaged, at most ten lines; none if nothing is. It reads the whole database, and the event loop stands still
 * meanwhile. With `isFull` the indexes are compared with their tables too.
 */
export async function findDamage(client: Client, isFull: boolean): Promise<string[]> {
  const name = isFull ? 'integrity_check' : 'quick_check'
  const { rows } = await client.execute(`PRAGMA ${name}(10)`)
  const lines = rows.map((row) => String(row[0]))
  return lines.length === 1 && lines[0] === 'ok' ? [] : lines
}

/** How many rows point to rows that are missing. It reads the whole database too. */
export async function countDangling(client: Client): Promise<number> {
  return (await client.execute('PRAGMA foreign_key_check')).rows.length
}

async function pragma(client: Client, name: string): Promise<unknown> {
  return (await client.execute(`PRAGMA ${name}`)).rows[0][0]
}
