/**
 * `npm run bench`: what the service does on each runtime, as ratios to a Hono echo that the same client measured
 * on the same runtime in the same run. `scripts/bench/README.md` says what each figure is.
 */
import { fsyncMs, machine } from './bench/machine.ts'
import { brokers } from './bench/brokers.ts'
import { fanOut } from './bench/fan-out.ts'
import { type Options, readOptions } from './bench/options.ts'
import { createReport, titleOf } from './bench/report.ts'
import { requests } from './bench/requests.ts'
import type { Scenario } from './bench/scenario.ts'
import { cleanUp, temporaryFolder } from './bench/server.ts'
import { size } from './bench/size.ts'
import { openStage } from './bench/stage.ts'
import { start } from './bench/start.ts'
import { waiters } from './bench/waiters.ts'
import { waking } from './bench/waking.ts'

const scenarios = { requests, waking, waiters, size, 'fan-out': fanOut, start, brokers } satisfies Record<
  string,
  Scenario
>
type Name = keyof typeof scenarios
const names = Object.keys(scenarios) as Name[]
const usual: Name[] = ['requests', 'waking', 'fan-out']

const usage = `npm run bench -- [--scenario ${usual}] [--runtime node] [--database file] [--clients 1,32,256] …

  --scenario  all, or some of ${names.join(', ')}
  --runtime   node, deno, bun: one table each
  --database  file: one file with fsync at each commit; libsql: a libsql-server on this machine
  --clients   how many agents call at the same time, each with its own key and connection
  --seconds   how long each figure is measured, after a warm-up (3)
  --mailboxes how many are filled and read in turn (512)
  --waiters   how many agents wait at the same time (1000,10000)
  --messages  how many messages are stored before (10000,1000000)
  --agents    how many agents the account has (10,10000)
  --members   how many members the channel has (500)
  --starts    how often it is started (5)
  --markdown  tables to paste

TMPDIR chooses the disk of the databases.`

async function bench({ scenarios: chosen, runtimes, database, sizes, markdown }: Options<Name>): Promise<void> {
  const report = createReport(markdown ? 'markdown' : 'text', console.log)
  report.facts({ machine: machine(), fsync: fsyncMs(temporaryFolder()), database, sizes, args: process.argv.slice(2) })
  for (const runtime of runtimes) {
    const stage = await openStage(runtime, database, sizes, report.table(titleOf(runtime)))
    for (const name of chosen) await scenarios[name].run(stage)
    await stage.floor.server.stop()
  }
  report.legend(chosen.flatMap((name) => scenarios[name].rows))
}

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return console.log(usage)
  let options
  try {
    options = readOptions(process.argv.slice(2), names, usual)
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
