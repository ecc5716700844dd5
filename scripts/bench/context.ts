import { mintKey } from '../../src/lib/secrets.ts'
import { rpc, step } from './calls.ts'
import { loadServer } from './connections.ts'
import type { Database } from './grid.ts'
import type { Measured } from './load.ts'
import { ratioToFloor } from './numbers.ts'
import type { Table } from './report.ts'
import type { BenchContext, BenchSizes, Floor, Row } from './scenario.ts'
import { type Runtime, startScript } from './server.ts'

export const hello: Row<Floor> = {
  name: 'hello',
  measures: 'POST on Hono: body and headers of a tools/call; the JSON body is parsed and sent back',
  limit: 'HTTP in the runtime and its Hono adapter; this is the floor',
  work({ server, key }, clients, connect) {
    const request = rpc(server.port, '/hello', key, 'tools/call', { name: 'list_channels', arguments: {} })
    return { steps: Array.from({ length: clients }, () => step(connect(), request, 'list_channels')) }
  },
}

/** Starts a runtime's floor server, which is measured when a table line needs it. The caller stops `floor.server`. */
export async function openBenchContext(
  runtime: Runtime,
  database: Database,
  sizes: BenchSizes,
  table: Table,
  printTable: BenchContext['table'],
): Promise<BenchContext> {
  const floor: Floor = {
    key: mintKey('agent_key').key,
    server: await startScript(runtime, ['scripts/bench/floor.ts']),
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
