/** What a message leaves in the database, and what a pair writes there. */
import { createClient } from '@libsql/client'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadServer } from './connections.ts'
import { type BenchDatabase, createDatabase, startGrid } from './grid.ts'
import { pairWork } from './pairs.ts'
import type { Scenario } from './scenario.ts'

/** Longer than any follower of the log gathers rows. */
const settleMs = 5_000
const clients = 32

export const storage: Scenario = {
  rows: [
    {
      name: 'bytes of a message',
      measures:
        'On a local file: the size of each table and index after pairs of 512 bytes of text, divided by the messages. Includes what 576 agents take',
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
    const grid = await startGrid(context.runtime, database)
    const load = () => loadServer('pairs', grid.server, context.seconds, (connect) => pairWork(grid, clients, connect))
    if (database.adminUrl) {
      await load()
      await sleep(settleMs)
      const before = await rowsOf(database.adminUrl)
      const { perSecond } = await load()
      await sleep(settleMs)
      const after = await rowsOf(database.adminUrl)
      const pairs = perSecond * context.seconds
      const counted = (name: keyof typeof after) => ((after[name] - before[name]) / pairs).toFixed(1)
      context.table({
        headings: ['rows of a pair', `${clients} clients`],
        rows: [['written', counted('written')], ['read', counted('read')]],
      })
      await grid.server.stop()
    } else {
      await load()
      await sleep(settleMs)
      await grid.server.stop()
      context.table({ headings: ['bytes of a message', 'bytes'], rows: await bytesOf(database) })
    }
  },
}

/** Each table and index with at least a byte for each message, and the sum of all. */
async function bytesOf({ env }: BenchDatabase): Promise<string[][]> {
  const client = createClient({ url: env.DATABASE_URL })
  try {
    const [{ n }] = (await client.execute('SELECT count(*) AS n FROM messages')).rows
    const { rows } = await client.execute(
      'SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC',
    )
    const sizes = rows.map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) / Number(n) }))
    const line = (name: string, bytes: number) => [name, bytes.toFixed(0)]
    return [
      ...sizes.filter(({ bytes }) => bytes >= 1).map(({ name, bytes }) => line(name, bytes)),
      line('all', sizes.reduce((sum, { bytes }) => sum + bytes, 0)),
    ]
  } finally {
    client.close()
  }
}

/** The rows that a libsql-server has counted since it started. */
async function rowsOf(adminUrl: string): Promise<{ written: number; read: number }> {
  const response = await fetch(`${adminUrl}/v1/namespaces/default/stats`)
  const stats = await response.json() as { rows_written_count: number; rows_read_count: number }
  return { written: stats.rows_written_count, read: stats.rows_read_count }
}
