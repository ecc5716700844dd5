/** Single requests and pairs, from the floor of HTTP to the whole way of a message. */
import { gridPath, rpc, step } from './calls.ts'
import { loadServer } from './connections.ts'
import { floorRows, hello } from './floor-rows.ts'
import type { BenchGrid } from './grid.ts'
import { pairRow, readRow, sendRow, startPairs } from './pairs.ts'
import type { Row, Scenario, Stage } from './scenario.ts'
import type { Server } from './server.ts'

const gridRows: Row<BenchGrid>[] = [
  {
    name: 'tools/list',
    measures: 'The service: key looked up in the database, list of the agent tools (no storage beyond the look-up)',
    limit: 'the query of the look-up and an answer of 2 kB',
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
  async run(stage) {
    for (const clients of stage.clients) await stage.hello(clients)
    for (const row of floorRows) await measure(stage, row, stage.floor)

    const grid = await startPairs(stage)
    for (const row of gridRows) await measure(stage, row, grid)
    await grid.server.stop()
  },
}

/** A row of the table for each number of clients. */
export async function measure<Under extends { server: Server }>(
  stage: Stage,
  row: Row<Under>,
  under: Under,
): Promise<void> {
  for (const clients of stage.clients) {
    const name = `${row.name}, ${clients} clients`
    const measured = await loadServer(name, under.server, stage.seconds, (connect) => row.work(under, clients, connect))
    await stage.report({ name: row.name, clients, ...measured, usesDatabase: 'agents' in under })
  }
}
