/** Copies a database table by table, between any kinds of databases. */
import type { Client, InStatement, InValue, Value } from '@libsql/client'
import { existsSync } from 'node:fs'
import { copyingFile, restoringFile } from '../driver/local-file.ts'
import type { Snapshot } from '../driver/snapshot.ts'
import { StartError } from '../start-error.ts'

interface SchemaObject {
  type: string
  name: string
  sql: string
}

/** Maximum rows per read and bytes per write. A server responds with at most 10 MB. */
const maxRows = 500
const maxBytes = 1_000_000
/** The maximum number of variables in a statement, SQLITE_MAX_VARIABLE_NUMBER of older servers. */
const maxVariables = 900

/** Copied last. Its triggers fill the agents' search index, because the index's own tables are not copied. */
const indexedTable = 'agent_numbers'

/** Copies the schema and all rows into an empty database, which is marked as unfinished until `finishCopy`. */
export async function copyTables(
  source: Snapshot,
  target: Client,
  onTable: (table: string, rows: number) => void = () => {},
  signal?: AbortSignal,
): Promise<void> {
  const schema = await schemaOf(source)
  const ofType = (type: string) => schema.filter((object) => object.type === type)
  const tables = ofType('table')
  await target.migrate([
    ...tables.map(({ sql }) => sql),
    { sql: 'INSERT INTO store_facts (key, value) VALUES (?, ?)', args: [unfinishedFact, ''] },
  ])
  const copied = tables.filter(({ sql, name }) => !isVirtual(sql) && name !== indexedTable)
  for (const table of copied) onTable(table.name, await copyRows(source, target, table, signal))
  await target.migrate([...ofType('index'), ...ofType('view'), ...ofType('trigger')].map(({ sql }) => sql))
  const indexed = tables.find(({ name }) => name === indexedTable)
  if (indexed) onTable(indexedTable, await copyRows(source, target, indexed, signal))
  const [[version]] = await source.query('PRAGMA user_version')
  await target.migrate([
    'DELETE FROM sqlite_sequence',
    ...(await source.query('SELECT name, seq FROM sqlite_sequence')).map((args) => ({
      sql: 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)',
      args,
    })),
    // The message index was not copied, so the projection fills it again.
    "UPDATE projections SET seq = 0 WHERE name = 'search'",
    `PRAGMA user_version = ${Number(version)}`,
  ])
}

/** Marks the copy as complete. After that, a grid can start on it. */
export async function finishCopy(target: Client): Promise<void> {
  await target.execute({ sql: `DELETE FROM store_facts WHERE key IN (${copyFacts.map(() => '?')})`, args: copyFacts })
}

/** The names of the tables, without virtual tables and the tables behind them. */
export async function tableNames(source: Pick<Snapshot, 'query'>): Promise<string[]> {
  return (await schemaOf(source)).filter(({ type, sql }) => type === 'table' && !isVirtual(sql)).map(({ name }) => name)
}

async function schemaOf(source: Pick<Snapshot, 'query'>): Promise<SchemaObject[]> {
  const rows = await source.query(
    "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
  )
  const objects = rows.map(([type, name, sql]) => ({ type: String(type), name: String(name), sql: String(sql) }))
  const virtual = objects.filter(({ sql }) => isVirtual(sql)).map(({ name }) => `${name}_`)
  return objects.filter(({ name }) =>
    !virtual.some((prefix) => name.startsWith(prefix)) && !/^(libsql_|_litestream_)/.test(name)
  )
}

function isVirtual(sql: string): boolean {
  return /^create virtual table/i.test(sql)
}

async function copyRows(
  source: Snapshot,
  target: Client,
  { name, sql }: SchemaObject,
  signal?: AbortSignal,
): Promise<number> {
  const info = await source.query(`PRAGMA table_info(${quoted(name)})`)
  const columns = info.map(([, column]) => quoted(String(column)))
  // Pages are read in the order in which SQLite stores the table.
  const order = /without rowid\s*$/i.test(sql)
    ? info.filter(([, , , , , key]) => Number(key) > 0).sort((a, b) => Number(a[5]) - Number(b[5]))
      .map(([, column]) => quoted(String(column)))
    : ['rowid']
  const list = order.join(', ')
  const behind = `WHERE (${list}) > (${order.map(() => '?').join(', ')})`
  const prefix = `INSERT INTO ${quoted(name)} (${columns.join(', ')}) VALUES `
  let count = 0
  let limit = maxRows
  let after: InValue[] = []
  for (;;) {
    signal?.throwIfAborted()
    let page: Value[][]
    try {
      page = await source.query(
        `SELECT ${columns.join(', ')}, ${list} FROM ${quoted(name)} ${after.length > 0 ? behind : ''}
          ORDER BY ${list} LIMIT ${limit}`,
        after,
      )
    } catch (error) {
      if (limit === 1 || !/too large/i.test(String(error))) throw error
      limit = Math.ceil(limit / 4)
      continue
    }
    const rows = page.map((row) => row.slice(0, columns.length))
    for (const statements of inRequests(prefix, columns.length, rows)) await target.migrate(statements)
    count += page.length
    if (page.length < limit) return count
    after = page[page.length - 1].slice(columns.length)
  }
}

function* inRequests(prefix: string, columns: number, rows: Value[][]): Iterable<InStatement[]> {
  const perStatement = Math.max(1, Math.floor(maxVariables / columns))
  const values = `(${Array(columns).fill('?').join(', ')})`
  let request: InStatement[] = []
  let waiting: Value[][] = []
  let bytes = 0
  const flush = () => {
    if (waiting.length > 0) request.push({ sql: prefix + waiting.map(() => values).join(', '), args: waiting.flat() })
    waiting = []
  }
  for (const row of rows) {
    waiting.push(row)
    for (const value of row) bytes += sizeOf(value)
    if (waiting.length === perStatement || bytes > maxBytes) flush()
    if (bytes <= maxBytes) continue
    yield request
    request = []
    bytes = 0
  }
  flush()
  if (request.length > 0) yield request
}

function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length
  return value instanceof ArrayBuffer ? value.byteLength : 8
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The fact that marks a database as being filled. A start refuses such a database. */
const unfinishedFact = 'copy_unfinished'
/** The fact that marks a remote database as being copied. Its value is the time from which a start may write, in ms. */
export const copyingFact = 'copying_until'
export const copyFacts = [unfinishedFact, copyingFact]

/** Fails with a `StartError` if the database is the target of an unfinished copy, or the source of a running one. */
export async function requireNoCopy(client: Client, name: string, now: number): Promise<void> {
  const facts = await client.execute({
    sql: 'SELECT key, value FROM store_facts WHERE key IN (?, ?)',
    args: [unfinishedFact, copyingFact],
  }).then(({ rows }) => new Map(rows.map(({ key, value }) => [key, value])), (error) => {
    if (/no such table/.test(String(error))) return new Map()
    throw error
  })
  if (facts.has(unfinishedFact)) {
    throw new StartError(
      'copy_unfinished',
      `${name} is an unfinished copy. Empty it, and run "agent-grid copy" or "agent-grid restore" again.`,
    )
  }
  if (Number(facts.get(copyingFact) ?? 0) > now) {
    throw new StartError(
      'copy_running',
      `${name} is being copied to another database and accepts no writes. Wait a minute, and start again.`,
    )
  }
}

/**
 * Fails with a `StartError` if the file at `path` is being restored or copied, because a start would create an empty
 * grid.
 */
export function requireNoRestore(path: string): void {
  if (existsSync(path)) return
  const unfinished = [restoringFile(path), copyingFile(path)].find((file) => existsSync(file))
  if (unfinished === undefined) return
  throw new StartError(
    'copy_unfinished',
    `${path} is being restored or copied, or that was interrupted: there is ${unfinished}. Wait for its end, or run it ` +
      'again; or remove that file, and the next start creates a new grid.',
  )
}
