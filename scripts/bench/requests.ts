/** Single requests and pairs, from an HTTP echo to sending and reading a message. */
import { gridPath, rpc, step } from './calls.ts'
import { loadServer } from './connections.ts'
import { floorRows, hello } from './floor-rows.ts'
import type { BenchGrid } from './grid.ts'
import { pairRow, readRow, sendRow, startPairs } from './pairs.ts'
import type { BenchContext, Row, Scenario } from './scenario.ts'
import type { ServerProcess } from './server.ts'

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
  rows: [hello, ...floorRows, ...gridRows],
  async run(context) {
    for (const clients of context.clients) await context.hello(clients)
    for (const row of floorRows) await measure(context, row, context.floor)

    const grid = await startPairs(context)
    for (const row of gridRows) await measure(context, row, grid)
    await grid.server.stop()
  },
}

/** Measure a row for each number of clients. */
async function measure<Subject extends { server: ServerProcess }>(
  context: BenchContext,
  row: Row<Subject>,
  subject: Subject,
): Promise<void> {
  for (const clients of context.clients) {
    const name = `${row.name}, ${clients} clients`
    const measured = await loadServer(
      name,
      subject.server,
      context.seconds,
      (connect) => row.work(subject, clients, connect),
    )
    await context.report({ name: row.name, clients, ...measured, usesDatabase: 'agents' in subject })
  }
}
