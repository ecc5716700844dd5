/** Posts to a large channel. */
import { drainInboxes, sendMessage, sendMessageRequest } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, createDatabase, startGrid } from './grid.ts'
import type { Workload } from './load.ts'
import type { Connect, Row, Scenario } from './scenario.ts'

/** Numbers of concurrent senders. More would only wait for each other's writes. */
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

/** Checks that two members, one of which posts too, receive all posts of the others. */
function postWork({ server, agents: { member } }: BenchGrid, clients: number, connect: Connect): Workload {
  const posted = Array.from({ length: clients }, () => 0)
  const readers = [member[0], member.at(-1)!]
  return {
    prepare: async () => void await drainInboxes(server.port, readers, connect),
    steps: member.slice(0, clients).map((from, i) => {
      const connection = connect()
      const request = sendMessageRequest(server.port, from, '#channel-0')
      return async () => {
        await sendMessage(connection, request)
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
