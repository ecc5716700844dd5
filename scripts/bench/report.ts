/** The table and the text beside it. */
import { type Database, readerCount } from './grid.ts'
import type { Measured } from './load.ts'
import type { Row } from './rows.ts'
import { type Runtime, versionOf } from './server.ts'

/** A measured row. */
export interface Line extends Measured {
  // deno-lint-ignore no-explicit-any -- of either server
  row: Row<any>
  clients: number
  /** To the requests per second of the hello row with as many clients. */
  ratio: number
  /** The server closed connections that it could have kept. */
  reopens: boolean
}

export interface Facts {
  machine: string
  fsync: { p50: number; p99: number }
  runtimes: Runtime[]
  clients: number[]
  seconds: number
  database: Database
}

export function printFacts({ machine, fsync, seconds, database }: Facts): void {
  print(`Machine    ${machine}; server and load generator share the cores
Disk       page appended and fsynced in ${ms(fsync.p50)} ms (median), ${ms(fsync.p99)} ms (p99)
Database   ${databaseText[database]}
Method     one process serves, this one calls: HTTP/1.1 keep-alive, each client has its own key and waits for its
           answer before the next request; ${seconds} s for each figure after a warm-up; Node ${process.versions.node} calls`)
}

export function printTitle(runtime: Runtime): void {
  print(`\n${titles[runtime]} ${versionOf(runtime)}\n`)
  print(
    columns(['', 'clients', 'requests/s', 'p50 ms', 'p99 ms', 'of hello', 'server', 'caller', 'others', 'held up by']),
  )
}

export function printLine(line: Line, database: Database): void {
  print(columns([
    line.row.name,
    String(line.clients),
    Math.round(line.perSecond).toLocaleString('en'),
    ms(line.p50Ms),
    ms(line.p99Ms),
    line.ratio.toPrecision(2),
    percent(line.cpu.server),
    percent(line.cpu.caller),
    percent(line.cpu.others),
    heldUpBy(line, database),
  ]))
}

// deno-lint-ignore no-explicit-any
export function printLegend(rows: Row<any>[]): void {
  print(`
"of hello" is the ratio of the requests per second to those of the hello row with as many clients. "server", "caller"
and "others" are the processor time of the two processes and of everything else on this machine, in percent of one
core; where others take a core (and are not the database server), the figures say little. "read" is measured in rounds: ${readerCount} mailboxes get one
message each, which is not counted, and are then read once each.
`)
  for (const { name, measures, limit } of rows) print(`${name}\n  ${measures}.\n  Limit: ${limit}.`)
  print(`
Deno 2.8.3 to 2.9.5 closes the connection after each request of more than about 500 bytes (denoland/deno#36657), as all
requests of the 2026 era are.`)
  print('\nRepeat with: npm run bench -- --runtime node,deno,bun --clients 1,32 --seconds 3 --database file')
}

const titles: Record<Runtime, string> = { node: 'Node', deno: 'Deno', bun: 'Bun' }

const databaseText: Record<Database, string> = {
  file: 'a local file, DURABILITY=full: an acknowledged message is fsynced',
  libsql: 'libsql-server on this machine over http, durability_mode strong',
}

const busy = 0.85

/** What the processor times say: who has nothing left, or what everybody waits for. */
function heldUpBy({ row, cpu, clients, reopens }: Line, database: Database): string {
  const remote = row.usesDatabase && database === 'libsql'
  if (cpu.others > 0.3 && !remote) return 'other programs'
  if (cpu.caller > busy && cpu.caller > cpu.server) return 'the load generator'
  if (cpu.server > busy) return 'processor of the server'
  if (reopens) return 'a new connection each time'
  if (remote) return 'the database server'
  if (row.usesDatabase) return 'the disk'
  return clients === 1 ? 'one request at a time' : 'both processes in turn'
}

const widths = [22, 8, 12, 9, 9, 10, 8, 8, 8]

function columns(cells: string[]): string {
  return cells.map((cell, i) => {
    if (i === 0) return cell.padEnd(widths[0])
    return i < widths.length ? cell.padStart(widths[i]) : `  ${cell}`
  }).join('')
}

function ms(value: number): string {
  return value < 10 ? value.toFixed(2) : value.toFixed(1)
}

function percent(share: number): string {
  return Number.isNaN(share) ? '?' : `${Math.round(share * 100)} %`
}

function print(text: string): void {
  console.log(text)
}
