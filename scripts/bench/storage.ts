/** Measures the bytes that a message adds to the database, and the rows that a pair writes. */
import { createClient } from '@libsql/client'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadServer } from './connections.ts'
import { type BenchDatabase, type BenchGrid, createDatabase, startGrid } from './grid.ts'
import { pairWork } from './pairs.ts'
import type { BenchContext, Scenario, TextTable } from './scenario.ts'

/** Longer than log followers wait to collect rows before they process them. */
const settleMs = 5_000
const clients = 32

export const storage: Scenario = {
  rows: [
    {
      name: 'bytes of a message',
      measures:
        'On a local file: by how much pairs of 512 bytes of text made each table and index larger, divided by their messages',
      limit: 'the text, and the words of its search index',
    },
    {
      name: 'rows of a pair',
      measures:
        'On a libsql-server: the rows that it counts as written and read, as Turso bills them, divided by the pairs',
      limit: 'tables and indexes that a send, a read and the followers of the log write',
    },
  ],
  async run(context) {
    const database = await createDatabase(context.database, { agents: { sender: clients, sink: 1, reader: 512 } })
    context.table(
      database.adminUrl ? await rowsOfPair(context, database, database.adminUrl) : await bytesOf(context, database),
    )
  },
}

async function bytesOf(context: BenchContext, database: BenchDatabase): Promise<TextTable> {
  const before = await sizesOf(database)
  const grid = await startGrid(context.runtime, database)
  await load(context, grid)
  await grid.server.stop()
  return { headings: ['bytes of a message', 'bytes'], rows: growth(before, await sizesOf(database)) }
}

async function rowsOfPair(context: BenchContext, database: BenchDatabase, adminUrl: string): Promise<TextTable> {
  const grid = await startGrid(context.runtime, database)
  await load(context, grid)
  const before = await rowsOf(adminUrl)
  const pairs = await load(context, grid)
  const after = await rowsOf(adminUrl)
  await grid.server.stop()
  const line = (name: keyof typeof after) => [name, ((after[name] - before[name]) / pairs).toFixed(1)]
  return { headings: ['rows of a pair', `${clients} clients`], rows: [line('written'), line('read')] }
}

/** Runs pairs. Resolves to the number of pairs, once the followers have processed them. */
async function load({ seconds }: BenchContext, grid: BenchGrid): Promise<number> {
  const { perSecond } = await loadServer('pairs', grid.server, seconds, (connect) => pairWork(grid, clients, connect))
  await sleep(settleMs)
  return perSecond * seconds
}

interface Sizes {
  messages: number
  /** Sizes of each table and index. */
  bytes: Map<string, number>
}

/** The tables and indexes that grew by at least a byte per message, and the total. */
function growth(before: Sizes, after: Sizes): string[][] {
  const messages = after.messages - before.messages
  const grown = [...after.bytes].map(([name, bytes]) => ({
    name,
    bytes: (bytes - (before.bytes.get(name) ?? 0)) / messages,
  })).sort((a, b) => b.bytes - a.bytes)
  return [
    ...grown.filter(({ bytes }) => bytes >= 1),
    { name: `all, of ${messages} messages`, bytes: grown.reduce((sum, { bytes }) => sum + bytes, 0) },
  ].map(({ name, bytes }) => [name, bytes.toFixed(0)])
}

async function sizesOf({ env }: BenchDatabase): Promise<Sizes> {
  const client = createClient({ url: env.DATABASE_URL })
  try {
    const [{ n }] = (await client.execute('SELECT count(*) AS n FROM messages')).rows
    const { rows } = await client.execute('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name')
    return { messages: Number(n), bytes: new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)])) }
  } finally {
    client.close()
  }
}

/** The rows counted by a libsql-server since it started. */
async function rowsOf(adminUrl: string): Promise<{ written: number; read: number }> {
  const response = await fetch(`${adminUrl}/v1/namespaces/default/stats`)
  const stats = await response.json() as { rows_written_count: number; rows_read_count: number }
  return { written: stats.rows_written_count, read: stats.rows_read_count }
}
