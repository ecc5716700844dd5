/** Prints the results as tables and texts, for a terminal or as Markdown. */
import type { Database } from './grid.ts'
import type { BenchSizes, Figures, RowText, TextTable } from './scenario.ts'
import { type Runtime, versionOf } from './server.ts'

/** A table line with its ratio to the floor. */
interface TableLine extends Figures {
  ratio?: number
  /** Processor time per request, relative to the floor. */
  cpuRatio?: number
  /** Whether a database server does part of the work. */
  sharesWork?: boolean
}

export interface Table {
  line(line: TableLine): void
  text(text: string): void
}

export interface Report {
  facts(facts: Facts): void
  table(title: string): Table
  textTable(table: TextTable): void
  /** Explains the rows. Prints nothing in Markdown, because the README explains them. */
  legend(rows: RowText[]): void
}

interface Facts {
  machine: string
  fsync: { p50Ms: number; p99Ms: number }
  database: Database
  sizes: BenchSizes
  /** The command line arguments of this run. */
  args: string[]
}

/** Creates a report. `print` is called for each line. */
export function createReport(form: 'text' | 'markdown', print: (line: string) => void): Report {
  const isMarkdown = form === 'markdown'
  const row = isMarkdown ? (cells: string[]) => `| ${cells.join(' | ')} |` : inColumns
  return {
    facts(facts) {
      for (const [name, text] of Object.entries(textOf(facts))) {
        print(isMarkdown ? `* **${name}**: ${text}` : `${name.padEnd(10)} ${text}`)
      }
    },
    table(title) {
      print(isMarkdown ? `\n### ${title}\n` : `\n${title}\n`)
      print(row(headings))
      if (isMarkdown) print(row(headings.map((_, i) => isText(i) ? '---' : '---:')))
      return {
        line: (line) => print(row(cellsOf(line))),
        text: (text) => print(isMarkdown ? row([text, ...headings.slice(1).map(() => '')]) : text),
      }
    },
    textTable({ headings, rows }) {
      const lines = [headings, ...rows]
      const widths = headings.map((_, i) => Math.max(...lines.map((cells) => cells[i].length)))
      const line = (cells: string[]) => cells.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd()
      print('')
      for (const [i, cells] of lines.entries()) {
        print(isMarkdown ? row(cells) : line(cells))
        if (isMarkdown && i === 0) print(row(headings.map(() => '---')))
      }
    },
    legend(rows) {
      if (isMarkdown) return
      print(legend)
      for (const { name, measures, limit } of rows) print(`${name}\n  ${measures}.\n  Limit: ${limit}.`)
    },
  }
}

export function titleOf(runtime: Runtime): string {
  return `${titles[runtime]} ${versionOf(runtime)}`
}

const headings = [
  '',
  'clients',
  'per second',
  'p50 ms',
  'p99 ms',
  'of hello',
  'CPU us',
  'x hello',
  'caller',
  'others',
  'remark',
]
const widths = [30, 8, 12, 9, 9, 10, 9, 9, 8, 8]

/** Returns a line's cells. Missing values are empty. */
function cellsOf(line: TableLine): string[] {
  const { name, clients, perSecond, p50Ms, p99Ms, ratio, cpuUs, cpuRatio, cpu } = line
  return [
    name,
    count(clients),
    known(perSecond, count),
    known(p50Ms, ms),
    known(p99Ms, ms),
    known(ratio, (value) => value.toPrecision(2)),
    known(cpuUs, count),
    known(cpuRatio, (value) => value.toPrecision(2)),
    known(cpu?.caller, percent),
    known(cpu?.others, percent),
    [line.remark, bottleneckOf(line)].filter(Boolean).join('; '),
  ]
}

function textOf({ machine, fsync, database, sizes, args }: Facts): Record<string, string> {
  return {
    Machine: `${machine}; servers and load generator share the cores`,
    Disk: `a page appended and fsynced in ${ms(fsync.p50Ms)} ms (median), ${ms(fsync.p99Ms)} ms (p99)`,
    Database: databaseText[database],
    Method:
      `one process serves, this one (Node ${process.versions.node}) calls over HTTP/1.1 keep-alive; each client ` +
      `has its own key and waits for each response; ${sizes.seconds} s per measurement after a warm-up`,
    Run: `${new Date().toISOString().slice(0, 10)}: npm run bench -- ${args.join(' ')}`,
  }
}

const titles: Record<Runtime, string> = { node: 'Node', deno: 'Deno', bun: 'Bun' }

const databaseText: Record<Database, string> = {
  file: 'a local file, DURABILITY=full: an acknowledged message is fsynced',
  libsql: 'libsql-server on this machine over http, durability_mode strong',
}

const legend = `
"of hello" is the ratio to the hello row with as many clients (or the number that the row names): of the requests per
second or, if only a time was measured, of the medians; 1 is as fast. "CPU us" is the processor time of the server for
one request in microseconds, user and system, and "x hello" its ratio to the hello row: other programs affect these two
the least. "caller" and "others" are the processor time of the load generator and of everything else on this machine
(also a database server), in percent of one core. If others use a whole core, times and rates mean little.
`

const busy = 0.85

/** The bottleneck, derived from the processor times. */
function bottleneckOf({ cpu, reopens, sharesWork }: TableLine): string {
  if (!cpu) return ''
  if (!sharesWork && cpu.others > 0.3) return 'other programs'
  if (cpu.caller > busy && cpu.caller > cpu.server) return 'load generator busy'
  if (cpu.server > busy) return 'server busy'
  return reopens ? 'a new connection each time' : ''
}

function isText(column: number): boolean {
  return column === 0 || column === headings.length - 1
}

function inColumns(cells: string[]): string {
  return cells.map((cell, i) => {
    if (i === 0) return cell.padEnd(widths[0])
    return i < widths.length ? cell.padStart(widths[i]) : `  ${cell}`
  }).join('').trimEnd()
}

function known(value: number | undefined, format: (value: number) => string): string {
  return value === undefined || Number.isNaN(value) ? '' : format(value)
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** Formats milliseconds with about three significant digits. */
function ms(value: number): string {
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : count(value)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
