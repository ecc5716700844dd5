/** Single requests and message pairs, from an HTTP echo to sending and reading a message. */
import { drainInboxes, gridPath, rpc, sendMessage, sendMessageRequests, step } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import type { Workload } from './load.ts'
import { pairRow, readRow, sendRow, startPairs } from './pairs.ts'
import { hello } from './context.ts'
import type { BenchContext, Connect, Row, Scenario } from './scenario.ts'

const gridRows: Row<BenchGrid>[] = [
  {
    name: 'tools/list',
    measures: 'The service: looks up the key in the database and lists the agent tools',
    limit: 'the query for the key, and a response of 2 kB',
    work: ({ server, agents: { sender } }, clients, connect) => ({
      steps: sender.slice(0, clients).map(({ key }) =>
        step(connect(), rpc(server.port, gridPath, key, 'tools/list'), '"tools":[')
      ),
    }),
  },
  sendRow,
  readRow,
  pairRow,
]

export const requests: Scenario = {
  rows: [hello, ...gridRows],
  async run(context) {
    for (const clients of context.clients) await context.hello(clients)
    const grid = await startPairs(context)
    for (const row of gridRows) await measure(context, row, grid)
    await grid.server.stop()
  },
}

/** Measures a table row for each number of clients. */
async function measure(context: BenchContext, row: Row<BenchGrid>, grid: BenchGrid): Promise<void> {
  for (const clients of context.clients) {
    const name = `${row.name}, ${clients} clients`
    const measured = await loadServer(
      name,
      grid.server,
      context.seconds,
      (connect) => row.work(grid, clients, connect),
    )
    await context.report({ name: row.name, clients, ...measured, usesDatabase: true })
  }
}

/** Numbers of concurrent senders. More senders would only wait for each other's writes. */
const posters = [1, 16]

const row: Row<BenchGrid> = {
  name: 'post to a channel',
  measures:
    'send_message to a channel with 500 members (--members); the same commit stores a delivery for each of them',
  limit: 'SQLite, which writes a row with four index entries for each member',
  work: postWork,
}

export const fanOut: Scenario = {
  rows: [row],
  async run(context) {
    const { members } = context
    const agents = { member: members }
    const grid = await startGrid(
      context.runtime,
      await createDatabase(context.database, { agents, channels: { of: 'member', size: members } }),
    )
    for (const clients of posters.filter((count) => count < members)) {
      const measured = await loadServer(`post, ${clients} clients`, grid.server, context.seconds, (connect) => {
        return row.work(grid, clients, connect)
      })
      const deliveries = Math.round(measured.perSecond * (members - 1)).toLocaleString('en')
      const remark = `${members} members: ${deliveries} deliveries per second`
      await context.report({ name: row.name, clients, ...measured, usesDatabase: true, remark })
    }
    await grid.server.stop()
  },
}

/** Measures posts to a channel. Checks that two members, one of which posts too, receive all posts by others. */
function postWork({ server, agents: { member } }: BenchGrid, clients: number, connect: Connect): Workload {
  const posted = Array.from({ length: clients }, () => 0)
  const readers = [member[0], member.at(-1)!]
  return {
    prepare: async () => void await drainInboxes(server.port, readers, connect),
    steps: member.slice(0, clients).map((from, i) => {
      const connection = connect()
      const nextPost = sendMessageRequests(server.port, from, '#channel-0')
      return async () => {
        await sendMessage(connection, nextPost())
        posted[i]++
      }
    }),
    async verify() {
      const all = posted.reduce((sum, count) => sum + count)
      const expected = [all - posted[0], all]
      const found = await drainInboxes(server.port, readers, connect)
      if (String(found) !== String(expected)) throw new Error(`two members received ${found} of ${expected} posts`)
    },
  }
}
