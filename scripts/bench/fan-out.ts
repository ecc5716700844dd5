/** Posts to a large channel. */
import { drain, send, sending } from './calls.ts'
import { loadServer } from './connections.ts'
import { type BenchGrid, newPlace, startGrid } from './grid.ts'
import type { Work } from './load.ts'
import type { Connect, Row, Scenario } from './scenario.ts'

/** Posting at the same time; more would wait for each other's rows. */
const posters = [1, 16]

const row: Row<BenchGrid> = {
  name: 'post to a channel',
  measures:
    'send_message to a channel with 500 members (--members), each of whom gets a delivery of its own in the same commit',
  limit: 'SQLite at work on a row with four index entries for each member',
  work: postWork,
}

export const fanOut: Scenario = {
  rows: [row],
  async run(stage) {
    const { members } = stage
    const agents = { member: members }
    const grid = await startGrid(
      stage.runtime,
      await newPlace(stage.database, { agents, channels: { of: 'member', size: members } }),
    )
    for (const clients of posters.filter((count) => count < members)) {
      const measured = await loadServer(`post, ${clients} clients`, grid.server, stage.seconds, (connect) => {
        return row.work(grid, clients, connect)
      })
      const deliveries = Math.round(measured.perSecond * (members - 1)).toLocaleString('en')
      const remark = `${members} members: ${deliveries} deliveries per second`
      await stage.report({ name: row.name, clients, ...measured, usesDatabase: true, remark })
    }
    await grid.server.stop()
  },
}

/** Two members, of whom one posts, must find all that others posted. */
function postWork({ server, agents: { member } }: BenchGrid, clients: number, connect: Connect): Work {
  const posted = Array.from({ length: clients }, () => 0)
  const readers = [member[0], member.at(-1)!]
  return {
    prepare: async () => void await drain(server.port, readers, connect),
    steps: member.slice(0, clients).map((from, i) => {
      const connection = connect()
      const request = sending(server.port, from, '#channel-0')
      return async () => {
        await send(connection, request)
        posted[i]++
      }
    }),
    async verify() {
      const all = posted.reduce((sum, count) => sum + count)
      const wanted = [all - posted[0], all]
      const found = await drain(server.port, readers, connect)
      if (String(found) !== String(wanted)) throw new Error(`two members got ${found} of ${wanted} posts`)
    },
  }
}
