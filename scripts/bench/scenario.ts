/** What a scenario is, and what it works with. */
import type { Connection } from './connection.ts'
import type { Floor } from './floor-rows.ts'
import type { Database } from './grid.ts'
import type { Measured, Work } from './load.ts'
import type { Runtime } from './server.ts'

/** A group of figures. Throws when the service did not do what it was measured doing. */
export interface Scenario {
  /** What is measured, for the text below the table. */
  rows: RowText[]
  run(stage: Stage): Promise<void>
}

export interface RowText {
  name: string
  /** What one request is and which work it contains. */
  measures: string
  /** What its figure depends on. */
  limit: string
}

/** How much of everything, as the command line says. */
export interface Sizes {
  /** Clients that call at the same time. */
  clients: number[]
  /** For each figure, after a warm-up. */
  seconds: number
  /** That are filled and read in turn; at least one for each client. */
  mailboxes: number
  /** Agents that wait at the same time. */
  waiters: number[]
  /** Messages stored before, from the fewest. */
  messages: number[]
  /** Agents of the account, from the fewest. */
  agents: number[]
  /** Of the channel that is posted to. */
  members: number
  /** Starts of which the median is taken. */
  starts: number
}

/** One runtime on one database. */
export interface Stage extends Sizes {
  runtime: Runtime
  database: Database
  /** A line of the table. */
  report(figures: Figures): Promise<void>
  /** Measure the hello row for so many clients, if that was not done yet. */
  hello(clients: number): Promise<void>
  /** Serves until the table ends. */
  floor: Floor
  /** A line of text in the table. */
  say(text: string): void
}

/** A line of the table as it was measured; what does not apply is left out. */
export interface Figures extends Partial<Measured> {
  name: string
  clients: number
  /** Whose hello row it is compared with, where that is not `clients`; `null`: with none. */
  floorClients?: number | null
  /** Reads or writes the database. */
  usesDatabase?: boolean
  /** The server closed connections that it could have kept. */
  reopens?: boolean
  /** Other figures, in words. */
  remark?: string
}

/** Opens connections; whoever hands it out closes them. */
export type Connect = () => Connection

/** A row that is measured by load, for what `Under` says is running. */
export interface Row<Under> extends RowText {
  work(under: Under, clients: number, connect: Connect): Work
}
