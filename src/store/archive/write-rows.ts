/** The rows of one account as lines of JSON, from a copy of the database. See docs/protocol/archive.md. */
import type { InValue, Value } from '@libsql/client'
import { Buffer } from 'node:buffer'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { migrations } from '../../../db/migrations.ts'
import { version } from '../../lib/version.ts'
import { requireSpace } from '../backup/files.ts'
import { withDatabase } from '../backup/local-copy.ts'
import type { FileSystemSpace } from '../driver/disk-space.ts'
import { snapshotOf } from '../driver/snapshot.ts'
import { accountColumns, type ArchivedTable, archivedTables, peopleTable } from './tables.ts'

/** Which texts a person who exports may read. All times are milliseconds since the epoch. */
export interface ArchiveReader {
  /** The id of the agent as which the person takes part; null without one. */
  agentId: string | null
  /** Since when they may read all; null for never. */
  since: number | null
  /** The ids of the channels that they are in, and since when. */
  channels: [id: string, since: number][]
}

export interface ArchiveInput {
  /** A copy of the database, which gets temporary tables and is of no other use. */
  copy: string
  /** The file that is made. */
  target: string
  account: string
  madeAt: number
  /** How many bytes must stay free on the disk of `target`. */
  minFreeBytes: number
  /** Replaces the look at the file system (tests). */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
  /** Absent for the operator, who gets all texts. */
  reader: ArchiveReader | undefined
}

export interface ArchiveManifest {
  agent_grid_archive: 1
  program: string
  schema: number
  made_at: string
  account: Record<(typeof accountColumns)[number], string | number | null>
  /** How much is not in it, by what it is. */
  left_out: Record<string, number>
}

type Run = (sql: string, args?: InValue[]) => Promise<Value[][]>

const rowsAtOnce = 50
/** For so much space on the disk is looked before it is written. */
const countedBytes = 16 * 2 ** 20

/** Write the manifest and the rows of an account. Nothing more of the copy is in memory than a few rows. */
export async function writeArchiveRows(
  { copy, target, account, madeAt, reader, minFreeBytes, readSpace }: ArchiveInput,
): Promise<void> {
  const file = await open(target, 'wx', 0o600)
  let counted = 0
  try {
    await withDatabase(copy, async (client) => {
      const run = snapshotOf(client).query
      await hideMessages(run, account, reader)
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
          await line([table.name, row])
          for (const { table: child, of } of table.children ?? []) {
            for (const found of await childrenOf(run, child, account, of, key)) await line([child.name, found])
          }
        }
      }
      for (const person of await people(run, account)) await line([peopleTable, person])
    })
  } finally {
    await file.close()
  }
}

async function hideMessages(run: Run, account: string, reader: ArchiveReader | undefined): Promise<void> {
  await run('CREATE TEMP TABLE hidden_messages (id TEXT PRIMARY KEY) WITHOUT ROWID')
  if (!reader) return
  const { agentId, since, channels } = reader
  await run(
    `INSERT INTO temp.hidden_messages SELECT m.id FROM messages AS m
    WHERE m.account_id = ?1 AND NOT (
      coalesce(m.created_at >= ?2, 0) OR coalesce(m.from_agent_id = ?3, 0)
      OR coalesce(m.channel_id IS NOT NULL AND m.created_at >= (
        SELECT value ->> 1 FROM json_each(?4) WHERE value ->> 0 = m.channel_id), 0)
      OR (m.channel_id IS NULL AND (
        EXISTS (SELECT 1 FROM deliveries AS d
          WHERE d.message_id = m.id AND d.sender_account_id = m.account_id AND d.agent_id = ?3)
        OR EXISTS (SELECT 1 FROM held_messages AS h
          WHERE h.message_id = m.id AND h.sender_account_id = m.account_id AND h.to_id = ?3))))`,
    [account, since, agentId, JSON.stringify(channels)],
  )
}

async function manifestOf(run: Run, account: string, madeAt: number): Promise<ArchiveManifest> {
  const count = async (sql: string, args: InValue[] = [account]) => Number((await run(sql, args))[0][0])
  const [found] = await run(`SELECT ${accountColumns.join(', ')} FROM accounts WHERE id = ?`, [account])
  const values = accountColumns.map((column, n) => [column, found[n]])
  return {
    agent_grid_archive: 1,
    program: version,
    schema: migrations.length,
    made_at: new Date(madeAt).toISOString(),
    account: Object.fromEntries(values),
    left_out: {
      texts_that_the_reader_may_not_read: await count('SELECT count(*) FROM temp.hidden_messages', []),
      messages_from_other_accounts: await count(
        'SELECT count(*) FROM deliveries WHERE account_id = ?1 AND sender_account_id <> ?1',
      ),
      deliveries_to_other_accounts: await count(
        'SELECT count(*) FROM deliveries WHERE sender_account_id = ?1 AND account_id <> ?1',
      ),
      tasks_with_other_accounts: await count(
        'SELECT count(*) FROM tasks WHERE (account_id = ?1) <> (recipient_account_id = ?1)',
      ),
    },
  }
}

/** Each with the value of its column `id`. The rows are chosen first: their order may have no index. */
async function* rowsOf(
  run: Run,
  table: ArchivedTable,
  account: string,
): AsyncIterable<[key: string, row: Record<string, unknown>]> {
  const { name, order = 'rowid' } = table
  await run('DROP TABLE IF EXISTS temp.chosen')
  await run('CREATE TEMP TABLE chosen (chosen_n INTEGER PRIMARY KEY, chosen_row INTEGER NOT NULL)')
  await run(
    `INSERT INTO temp.chosen (chosen_row) SELECT rowid FROM ${name} WHERE ${conditionOf(table)} ORDER BY ${order}`,
    [account],
  )
  const columns = columnsOf(table)
  for (let after = 0;; after += rowsAtOnce) {
    const page = await run(
      `SELECT ${columns} FROM temp.chosen CROSS JOIN ${name} ON ${name}.rowid = chosen_row
      WHERE chosen_n > ? AND chosen_n <= ? ORDER BY chosen_n`,
      [after, after + rowsAtOnce],
    )
    if (page.length === 0) return
    for (const values of page) {
      const row = named(table, values)
      yield [String(row.id), row]
    }
  }
}

async function childrenOf(run: Run, table: ArchivedTable, account: string, of: string, key: string) {
  const { name, order = 'rowid' } = table
  const found = await run(
    `SELECT ${columnsOf(table)} FROM ${name} WHERE ${conditionOf(table)} AND ${name}.${of} = ?2 ORDER BY ${order}`,
    [account, key],
  )
  return found.map((values) => named(table, values))
}

/** The account is the first parameter. */
function conditionOf({ name, accounts = [], where = '1' }: ArchivedTable): string {
  const isOwn = accounts.map((column) => ` AND coalesce(${name}.${column}, ?1) = ?1`).join('')
  return `${name}.account_id = ?1${isOwn} AND (${where})`
}

function columnsOf({ columns, read = {} }: ArchivedTable): string {
  return columns.map((column) => read[column] ?? column).join(', ')
}

function named({ columns }: ArchivedTable, values: Value[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column, n) => {
    const value = values[n]
    return [column, value instanceof ArrayBuffer ? Buffer.from(value).toString('base64') : value]
  }))
}

async function people(run: Run, account: string) {
  const found = await run(
    `SELECT users.email, memberships.role, seats.agent_id FROM memberships
    JOIN users ON users.id = memberships.user_id
    LEFT JOIN seats ON seats.account_id = memberships.account_id AND seats.user_id = memberships.user_id
    WHERE memberships.account_id = ? ORDER BY users.email`,
    [account],
  )
  return found.map(([email, role, agent_id]) => ({ email, role, agent_id }))
}
