/** Types of the scenarios. */
import type { Connection } from './connection.ts'
import type { Database } from './grid.ts'
import type { Measured, Workload } from './load.ts'
import type { Runtime, ServerProcess } from './server.ts'

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
  /** The bottleneck of its figure. */
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
  /** Number of starts. The median is reported. */
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
  /** Prints a line of the table. */
  report(figures: Figures): Promise<void>
  /** Measures the hello row for this number of clients, unless already done. */
  hello(clients: number): Promise<void>
  /** Runs until the table is complete. */
  floor: Floor
  /** Prints a line of text in the table. */
  note(text: string): void
  /** Prints a separate table, after the other one. */
  table(table: TextTable): void
}

/** A table with its own columns. */
export interface TextTable {
  headings: string[]
  rows: string[][]
}

/** A line's measurements. Unmeasured ones are missing. */
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
