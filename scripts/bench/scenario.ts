/** The types of scenarios. */
import { mintKey } from '../../src/lib/secrets.ts'
import { rpc, step } from './calls.ts'
import { type Connection, loadServer } from './connection.ts'
import type { Database } from './grid.ts'
import type { Measured, Workload } from './load.ts'
import { ratioToFloor } from './numbers.ts'
import type { Table } from './report.ts'
import { type Runtime, type ServerProcess, startScript } from './server.ts'

/** A group of measurements. Throws if the service did not work correctly. */
export interface Scenario {
  /** Explains the rows, below the table. */
  rows: RowText[]
  run(context: BenchContext): Promise<void>
}

export interface RowText {
  name: string
  /** What one request is, and which work it includes. */
  measures: string
  /** What limits its figure. */
  limit: string
}

/** The sizes from the command line. */
export interface BenchSizes {
  /** Numbers of concurrent clients. */
  clients: number[]
  /** Duration of each measurement, after a warm-up. */
  seconds: number
  /** Inboxes that are filled and read in turn; at least one for each client. */
  inboxes: number
  /** Numbers of messages stored beforehand, in ascending order. */
  messages: number[]
  /** Numbers of agents in the account, in ascending order. */
  agents: number[]
  /** Members of the channel that gets the posts. */
  members: number
  /** Number of starts, of which the median is reported. */
  starts: number
}

/** The running server of `floor.ts`, and a well-formed key; the server accepts any. */
export interface Floor {
  server: ServerProcess
  key: string
}

/** One runtime on one database. */
export interface BenchContext extends BenchSizes {
  runtime: Runtime
  database: Database
  /** Print a line of the table. */
  report(figures: Figures): Promise<void>
  /** Measure the hello row for this number of clients, unless that was done already. */
  hello(clients: number): Promise<void>
  /** Runs until the table is complete. */
  floor: Floor
  /** Print a line of text in the table. */
  note(text: string): void
  /** Print a table of its own, after the other one. */
  table(table: TextTable): void
}

/** A table with columns of its own. */
export interface TextTable {
  headings: string[]
  rows: string[][]
}

/** The measurements of a line. What was not measured is missing. */
export interface Figures extends Partial<Measured> {
  name: string
  clients: number
  /** The number of clients of the hello row for the ratio, if not `clients`. `null`: no ratio. */
  floorClients?: number | null
  /** Whether it reads or writes the database. */
  usesDatabase?: boolean
  /** The server often closed connections instead of keeping them alive. */
  reopens?: boolean
  /** Other figures, as text. */
  remark?: string
}

/** Opens a connection. `withConnections` closes it. */
export type Connect = () => Connection

/** A row that is measured under load, on the running `Subject`. */
export interface Row<Subject> extends RowText {
  work(subject: Subject, clients: number, connect: Connect): Workload
}

export const hello: Row<Floor> = {
  name: 'hello',
  measures: 'POST on Hono: body and headers of a tools/call; the JSON body is parsed and sent back',
  limit: 'HTTP in the runtime and its Hono adapter; this is the floor',
  work({ server, key }, clients, connect) {
    const request = rpc(server.port, '/hello', key, 'tools/call', { name: 'list_channels', arguments: {} })
    return { steps: Array.from({ length: clients }, () => step(connect(), request, 'list_channels')) }
  },
}

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
