/**
 * `npm run bench`: measures the service on each runtime, relative to a Hono echo server. The same client measures both
 * on the same runtime in the same run. `scripts/bench/README.md` explains the figures.
 */
import { parseArgs } from 'node:util'
import { compare } from './bench/compare.ts'
import { type Database, databases } from './bench/grid.ts'
import { exchange } from './bench/exchange.ts'
import { fsyncMs, machine } from './bench/numbers.ts'
import { createReport, titleOf } from './bench/report.ts'
import { fanOut, requests } from './bench/requests.ts'
import { openBenchContext } from './bench/context.ts'
import type { BenchSizes, Scenario, TextTable } from './bench/scenario.ts'
import { cleanUp, type Runtime, runtimes, temporaryFolder } from './bench/server.ts'
import { size, start } from './bench/size.ts'
import { storage } from './bench/storage.ts'
import { waking } from './bench/waking.ts'

const scenarios = {
  requests,
  waking,
  size,
  storage,
  'fan-out': fanOut,
  start,
  compare,
  exchange,
} satisfies Record<string, Scenario>
type ScenarioName = keyof typeof scenarios
/** Each client has one connection. */
const maxClients = 256
const names = Object.keys(scenarios) as ScenarioName[]
const defaults: ScenarioName[] = ['requests', 'waking', 'fan-out']

const usage = `npm run bench -- [--scenario ${defaults}] [--runtime node] [--database file] [--clients 1,32,256] …

  --scenario  all, or some of ${names.join(', ')}
  --runtime   node, deno, bun: one table for each
  --database  file: a local file with an fsync per commit; libsql: a libsql-server on this machine
  --clients   number of concurrent agents, each with its own key and connection
  --seconds   duration of each measurement, after a warm-up (3)
  --inboxes   number of inboxes that are filled and read in turn (512)
  --messages  number of messages stored beforehand (10000,1000000)
  --agents    number of agents in the account (10,10000)
  --members   number of members in the channel (500)
  --starts    number of starts (5)
  --markdown  print Markdown tables

TMPDIR selects the disk of the databases.`

async function bench(
  { scenarios: chosen, runtimes, database, sizes, markdown }: BenchOptions<ScenarioName>,
): Promise<void> {
  const report = createReport(markdown ? 'markdown' : 'text', console.log)
  report.facts({ machine: machine(), fsync: fsyncMs(temporaryFolder()), database, sizes, args: process.argv.slice(2) })
  const tables: TextTable[] = []
  for (const runtime of runtimes) {
    const context = await openBenchContext(runtime, database, sizes, report.table(titleOf(runtime)), (table) => {
      tables.push(table)
    })
    for (const name of chosen) await scenarios[name].run(context)
    for (const table of tables.splice(0)) report.textTable(table)
    await context.floor.server.stop()
  }
  report.legend(chosen.flatMap((name) => scenarios[name].rows))
}

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return console.log(usage)
  let options
  try {
    options = readOptions(process.argv.slice(2), names, defaults)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
  try {
    await bench(options)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  } finally {
    await cleanUp()
  }
}

void main()

export interface BenchOptions<Name extends string> {
  scenarios: Name[]
  runtimes: Runtime[]
  database: Database
  sizes: BenchSizes
  markdown: boolean
}

/** Parses the command line. Throws if it is invalid. `defaults` are the scenarios to run if none are given. */
export function readOptions<Name extends string>(
  args: string[],
  scenarios: readonly Name[],
  defaults: Name[],
): BenchOptions<Name> {
  const text = (value: string) => ({ type: 'string' as const, default: value })
  const { values } = parseArgs({
    args,
    options: {
      scenario: text(defaults.join(',')),
      runtime: text('node'),
      database: text('file'),
      clients: text('1,32,256'),
      seconds: text('3'),
      inboxes: text('512'),
      messages: text('10000,1000000'),
      agents: text('10,10000'),
      members: text('500'),
      starts: text('5'),
      markdown: { type: 'boolean', default: false },
    },
  })
  const number = (name: 'members' | 'seconds' | 'starts' | 'inboxes', least: number, most = Infinity) =>
    numbers(name, values[name], least, most)[0]
  return {
    scenarios: values.scenario === 'all'
      ? [...scenarios]
      : values.scenario.split(',').map((name) => oneOf(scenarios, name)),
    runtimes: values.runtime.split(',').map((name) => oneOf(runtimes, name)),
    database: oneOf(databases, values.database),
    markdown: values.markdown,
    sizes: {
      clients: numbers('clients', values.clients, 1, maxClients),
      seconds: number('seconds', 0.01),
      inboxes: number('inboxes', 1),
      messages: numbers('messages', values.messages, 1),
      agents: numbers('agents', values.agents, 10),
      members: number('members', 2, 500),
      starts: number('starts', 1),
    },
  }
}

function oneOf<Name extends string>(names: readonly Name[], text: string): Name {
  const name = names.find((name) => name === text)
  if (!name) throw new Error(`"${text}" is not one of ${names.join(', ')}`)
  return name
}

/** Parses a list of integers. For `seconds`, any numbers are allowed. */
function numbers(name: string, text: string, least: number, most = Infinity): number[] {
  const list = text.split(',').map(Number)
  if (list.every((n) => n >= least && n <= most && (name === 'seconds' || Number.isInteger(n)))) return list
  throw new Error(`--${name} takes numbers from ${least}${most === Infinity ? '' : ` to ${most}`}`)
}
