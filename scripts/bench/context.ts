/** The context of one runtime and table: measures the floor, and reports lines as ratios to it. */
import { mintKey } from '../../src/lib/secrets.ts'
import { loadServer } from './connections.ts'
import { hello } from './floor-rows.ts'
import { type Database, unreachableLimits } from './grid.ts'
import type { Measured } from './load.ts'
import { ratioToFloor } from './numbers.ts'
import type { Table } from './report.ts'
import type { BenchContext, BenchSizes, Floor } from './scenario.ts'
import { type Runtime, startScript } from './server.ts'

/** Start the floor server of a runtime. It is measured when a line needs it. The caller stops `floor.server`. */
export async function openBenchContext(
  runtime: Runtime,
  database: Database,
  sizes: BenchSizes,
  table: Table,
  printTable: BenchContext['table'],
): Promise<BenchContext> {
  const floor: Floor = {
    key: mintKey('agent_key').key,
    server: await startScript(runtime, ['scripts/bench/floor.ts'], { LOG_LEVEL: 'warn', ...unreachableLimits }),
  }
  const floors = new Map<number, Measured>()

  async function floorOf(clients: number): Promise<Measured> {
    const known = floors.get(clients)
    if (known) return known
    const measured = await loadServer(hello.name, floor.server, sizes.seconds, (connect) => {
      return hello.work(floor, clients, connect)
    })
    floors.set(clients, measured)
    table.line({ name: hello.name, clients, ...measured, ratio: 1, cpuRatio: 1 })
    return measured
  }

  return {
    ...sizes,
    runtime,
    database,
    floor,
    note: table.text,
    table: printTable,
    hello: async (clients) => void await floorOf(clients),
    async report(figures) {
      const { clients, floorClients = clients, usesDatabase } = figures
      const sharesWork = usesDatabase && database === 'libsql'
      if (floorClients === null) return table.line(figures)
      const floor = await floorOf(floorClients)
      const cpuRatio = figures.cpuUs === undefined ? undefined : figures.cpuUs / floor.cpuUs
      table.line({ ...figures, ratio: ratioToFloor(figures, floor), cpuRatio, sharesWork })
    },
  }
}
