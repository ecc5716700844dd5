/**
 * `npm run bench`: measures the service on each runtime, as ratios to a Hono echo server that the same client measures
 * on the same runtime in the same run. `scripts/bench/README.md` explains the figures.
 */
import { compare } from './bench/compare.ts'
import { openBenchContext } from './bench/context.ts'
import { fanOut } from './bench/fan-out.ts'
import { fsyncMs, machine } from './bench/machine.ts'
import { type BenchOptions, readOptions } from './bench/options.ts'
import { createReport, titleOf } from './bench/report.ts'
import { requests } from './bench/requests.ts'
import type { Scenario, TextTable } from './bench/scenario.ts'
import { cleanUp, temporaryFolder } from './bench/server.ts'
import { size } from './bench/size.ts'
import { start } from './bench/start.ts'
import { waking } from './bench/waking.ts'

const scenarios = {
  requests,
  waking,
  size,
  'fan-out': fanOut,
  start,
  compare,
} satisfies Record<string, Scenario>
type ScenarioName = keyof typeof scenarios
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
