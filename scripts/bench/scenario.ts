import type { Connection } from './connection.ts'
import type { Database } from './grid.ts'
import type { Measured, Workload } from './load.ts'
import type { Runtime, ServerProcess } from './server.ts'

/** A group of measurements. Throws if the service works incorrectly. */
export interface Scenario {
  /** Explanations of the rows, printed below the table. */
  rows: RowText[]
  run(context: BenchContext): Promise<void>
}

export interface RowText {
  name: string
  /** The meaning of one request, and the work that it includes. */
  measures: string
  /** What limits the row's figure. */
  limit: string
}

/** Sizes from the command line. */
export interface BenchSizes {
  /** Numbers of concurrent clients. */
  clients: number[]
  /** Duration of each measurement, after a warm-up. */
  seconds: number
  /** Number of inboxes that are filled and read in turn. At least one per client. */
  inboxes: number
  /** Numbers of previously stored messages, in ascending order. */
  messages: number[]
  /** Numbers of agents in the account, in ascending order. */
  agents: number[]
  /** Number of members in the channel that receives the posts. */
  members: number
  /** Number of starts. The median is reported. */
  starts: number
}

/** The running server of `floor.ts`, and a well-formed key, which the server does not check. */
export interface Floor {
  server: ServerProcess
  key: string
}

/** One runtime with one database. */
export interface BenchContext extends BenchSizes {
  runtime: Runtime
  database: Database
  /** Prints a line of the table. */
  report(figures: Figures): Promise<void>
  /** Measures the hello row for this number of clients, unless it was already measured. */
  hello(clients: number): Promise<void>
  /** The floor, which runs until the table is complete. */
  floor: Floor
  /** Prints a line of text in the table. */
  note(text: string): void
  /** Prints a separate table below the main one. */
  table(table: TextTable): void
}

/** A table with its own columns. */
export interface TextTable {
  headings: string[]
  rows: string[][]
}

/** A line's measurements. Missing values were not measured. */
export interface Figures extends Partial<Measured> {
  name: string
  clients: number
  /** The number of clients of the hello row to compare with, if it differs from `clients`. `null` for no ratio. */
  floorClients?: number | null
  /** Whether the request uses the database. */
  usesDatabase?: boolean
  /** Whether the server often closed connections instead of keeping them alive. */
  reopens?: boolean
  /** Further figures, as text. */
  remark?: string
}

/** Opens a connection, which `withConnections` closes. */
export type Connect = () => Connection

/** A row that is measured under load, on the running `Subject`. */
export interface Row<Subject> extends RowText {
  work(subject: Subject, clients: number, connect: Connect): Workload
}
