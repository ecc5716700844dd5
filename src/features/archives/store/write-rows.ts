/** Writes one account's rows as JSON lines, from a copy of the database. See docs/protocol/archive.md. */
import type { InValue, Value } from '@libsql/client'
import { Buffer } from 'node:buffer'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { primaryKeys } from '../../../../db/derived-tables.ts'
import { version } from '../../../lib/version.ts'
import { requireSpace } from '../../../store/backup/files.ts'
import { withDatabase } from '../../../store/backup/local-copy.ts'
import type { FileSystemSpace } from '../../../store/driver/disk-space.ts'
import { snapshotOf } from '../../../store/driver/snapshot.ts'
import {
  archivedAccount,
  type ArchivedTable,
  archivedTables,
  conditionOf,
  hideMessages,
  leftOut,
  people,
} from './tables.ts'
import { archiveFormat, archiveVersion, personRecord } from './validators.ts'

/** The person who exports the archive and may read only some texts. All times are milliseconds since the epoch. */
export interface ArchiveReader {
  /** Id of the person's agent. Null if they have none. */
  agentId: string | null
  /** The time from which they may read all messages. Null if they may not. */
  since: number | null
  /** The ids of their channels, with the time they joined each. */
  channels: [id: string, since: number][]
}

export interface ArchiveInput {
  /** Path of a copy of the database. The copy is used only for this archive, which adds temporary tables. */
  copy: string
  /** Path of the file to write. */
  target: string
  account: string
  madeAt: number
  /** Number of bytes that must stay free on `target`'s disk. */
  minFreeBytes: number
  /** Replaces the file system check in tests. */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
  /** Undefined for the operator, whose archive contains all texts. */
  reader: ArchiveReader | undefined
}

export interface ArchiveManifest {
  format: typeof archiveFormat
  version: number
  /** Version of the program that created the archive. */
  program: string
  made_at: string
  account: Record<string, string | number | null>
  /** How much data the archive omits, by kind. */
  left_out: Record<string, number>
}

type Run = (sql: string, args?: InValue[]) => Promise<Value[][]>

const rowsAtOnce = 50
/** Free disk space is checked each time this many bytes have been written. */
const countedBytes = 16 * 2 ** 20

/** Writes an account's manifest and rows. Holds only a few rows in memory at a time. */
export async function writeArchiveRows(
  { copy, target, account, madeAt, reader, minFreeBytes, readSpace }: ArchiveInput,
): Promise<void> {
  const file = await open(target, 'wx', 0o600)
  let counted = 0
  try {
    await withDatabase(copy, async (client) => {
      const run = snapshotOf(client).query
      await hide(run, account, reader)
      const line = async (value: unknown) => {
        const text = Buffer.from(`${JSON.stringify(value)}\n`)
        if (counted < text.length) {
          counted = text.length + countedBytes
          await requireSpace(dirname(target), counted, minFreeBytes, readSpace)
        }
        counted -= text.length
        await file.write(text)
      }
      await line(await manifestOf(run, account, madeAt))
      for (const table of archivedTables) {
        for await (const [key, row] of rowsOf(run, table, account)) {
          await line([table.record, row])
          for (const { table: child, of } of table.children ?? []) {
            for (const found of await childrenOf(run, child, account, of, key)) await line([child.record, found])
          }
        }
      }
      for (const [email, role, agent_id] of await run(people, [account])) {
        await line([personRecord, { email, role, agent_id }])
      }
    })
  } finally {
    await file.close()
  }
}

async function hide(run: Run, account: string, reader: ArchiveReader | undefined): Promise<void> {
  await run('CREATE TEMP TABLE hidden_messages (id TEXT PRIMARY KEY) WITHOUT ROWID')
  if (!reader) return
  const { agentId, since, channels } = reader
  await run(hideMessages, [account, since, agentId, JSON.stringify(channels)])
}

async function manifestOf(run: Run, account: string, madeAt: number): Promise<ArchiveManifest> {
  const { table } = archivedAccount
  const [found] = await run(`SELECT ${columnsOf(archivedAccount)} FROM ${table} WHERE id = ?`, [account])
  const counts: [string, number][] = []
  for (const [what, sql] of Object.entries(leftOut)) counts.push([what, Number((await run(sql, [account]))[0][0])])
  return {
    format: archiveFormat,
    version: archiveVersion,
    program: version,
    made_at: new Date(madeAt).toISOString(),
    account: named(archivedAccount, found) as ArchiveManifest['account'],
    left_out: Object.fromEntries(counts),
  }
}

/** Yields rows with their `id`. First selects the keys of all rows in order, because the order may have no index. */
async function* rowsOf(
  run: Run,
  archived: ArchivedTable,
  account: string,
): AsyncIterable<[key: string, row: Record<string, unknown>]> {
  const { table } = archived
  // Of the tables without a rowid, only those that have ids are archived.
  const key = table in primaryKeys ? 'id' : 'rowid'
  const { order = key } = archived
  await run('DROP TABLE IF EXISTS temp.chosen')
  await run('CREATE TEMP TABLE chosen (chosen_n INTEGER PRIMARY KEY, chosen_row NOT NULL)')
  await run(
    `INSERT INTO temp.chosen (chosen_row) SELECT ${key} FROM ${table} WHERE ${conditionOf(archived)} ORDER BY ${order}`,
    [account],
  )
  for (let after = 0;; after += rowsAtOnce) {
    const page = await run(
      `SELECT ${columnsOf(archived)} FROM temp.chosen
      CROSS JOIN ${table} ON ${table}.account_id = ? AND ${table}.${key} = chosen_row
      WHERE chosen_n > ? AND chosen_n <= ? ORDER BY chosen_n`,
      [account, after, after + rowsAtOnce],
    )
    if (page.length === 0) return
    for (const values of page) {
      const row = named(archived, values)
      yield [String(row.id), row]
    }
  }
}

async function childrenOf(run: Run, archived: ArchivedTable, account: string, of: string, key: string) {
  const { table, order = 'rowid' } = archived
  const found = await run(
    `SELECT ${columnsOf(archived)} FROM ${table} WHERE ${conditionOf(archived)} AND ${of} ORDER BY ${order}`,
    [account, key],
  )
  return found.map((values) => named(archived, values))
}

type Fields = Pick<ArchivedTable, 'fields' | 'read' | 'convert'>

/** Returns the fields in the order in which `columnsOf` selects them. */
function fieldsOf({ fields, read = {} }: Fields): string[] {
  return [...new Set([...Object.keys(fields), ...Object.keys(read)])]
}

function columnsOf({ fields, read = {} }: Fields): string {
  return fieldsOf({ fields, read }).map((field) => read[field] ?? fields[field]).join(', ')
}

function named({ fields, read, convert = {} }: Fields, values: Value[]): Record<string, unknown> {
  return Object.fromEntries(
    fieldsOf({ fields, read }).map((field, n) => {
      const value = values[n]
      if (value instanceof ArrayBuffer) return [field, Buffer.from(value).toString('base64')]
      return [field, typeof value === 'string' ? convert[field]?.toArchive(value) ?? value : value]
    }),
  )
}
