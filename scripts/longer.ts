/**
 * Runs the long form of a test: `npm run chaos`, `npm run faults`, and in `npm run lab` fuzz, backup, console-size,
 * soak, task-streams, reservations, flood and new-connections. Options override the defaults below. A seed determines
 * the course of a run, and each run prints its seed. With `--log FILE`, the proofs append their figures to a file of
 * JSON lines, and print the totals of all runs in it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { runtimeBinary } from './runtime.ts'

/** The options of each test, with the variable that the test reads and the default value. */
const tests: Record<string, Record<string, [variable: string, fallback?: string]>> = {
  // With `--database file`, the runtimes run one after the other, each on its own local file, and `binary` is also
  // allowed. Without a webhook, a run does not wait at its end until thousands of webhook requests are sent.
  chaos: {
    seconds: ['CHAOS_SECONDS', '60'],
    runtime: ['CHAOS_RUNTIMES', 'node,deno,bun'],
    database: ['CHAOS_DATABASE', 'libsql-server'],
    webhook: ['CHAOS_WEBHOOK', 'yes'],
    seed: ['CHAOS_SEED'],
    log: ['PROOF_LOG'],
  },
  faults: { rounds: ['FAULTS_ROUNDS', '50'], runtime: ['FAULTS_RUNTIME', 'node'], seed: ['FAULTS_SEED'] },
  // The test itself runs on `runtime`. Request numbers begin at `first`, so that part of a longer run can be repeated.
  fuzz: {
    first: ['FUZZ_FIRST', '0'],
    requests: ['FUZZ_REQUESTS', '200000'],
    runtime: ['FUZZ_RUNTIME', 'node'],
    seed: ['FUZZ_SEED'],
    log: ['PROOF_LOG'],
  },
  // 500 tasks with 20 events each, and 300 events from one process to each of two others.
  'task-streams': {
    tasks: ['STREAM_TASKS', '500'],
    kills: ['STREAM_KILLS', '10'],
    events: ['STREAM_EVENTS', '300'],
  },
  reservations: { reservations: ['RESERVATIONS', '10000'], kills: ['RESERVATION_KILLS', '10'] },
  // Backs up a local file of this many megabytes under load, and restores it.
  backup: {
    megabytes: ['BACKUP_MEGABYTES', '5000'],
    rounds: ['BACKUP_ROUNDS', '1'],
    log: ['PROOF_LOG'],
  },
  'console-size': { messages: ['CONSOLE_MESSAGES', '1000000'], log: ['PROOF_LOG'] },
  soak: { days: ['SOAK_DAYS', '24'], log: ['PROOF_LOG'] },
  flood: { seconds: ['FLOOD_SECONDS', '60'], runtime: ['FLOOD_RUNTIME', 'node'], traffic: ['FLOOD_TRAFFIC', 'mixed'] },
  'new-connections': { clients: ['CONNECTION_CLIENTS', '2000'], seconds: ['CONNECTION_SECONDS', '15'] },
}

const places: Record<string, string> = { flood: 'test', 'new-connections': 'test' }
const [name, ...args] = process.argv.slice(2)
const options = Object.keys(tests[name])
const { values } = parseArgs({
  args,
  options: Object.fromEntries(options.map((option) => [option, { type: 'string' as const }])),
})
const variables = Object.entries(tests[name]).map(([option, [variable, fallback]]) => [
  variable,
  values[option] ?? fallback,
])
const other = name === 'fuzz' ? values.runtime : undefined
const [program, ...words] = other === 'deno' || other === 'bun'
  ? [runtimeBinary(other), ...other === 'deno' ? ['run', '--allow-all'] : []]
  : [process.execPath]
const { status } = spawnSync(
  program,
  [
    ...words,
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    `${places[name] ?? 'test/e2e'}/${name}.test.ts`,
  ],
  { stdio: 'inherit', env: { ...process.env, ...Object.fromEntries(variables.filter(([, value]) => value)) } },
)
if (values.log !== undefined) console.table(sumsOf(name, values.log))
process.exit(status ?? 1)

/** The totals of all passed runs, by database and runtime. */
function sumsOf(proof: string, file: string): Record<string, Record<string, number>> {
  const sums: Record<string, Record<string, number>> = {}
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  for (const { on, figures, ...run } of lines.map((line) => JSON.parse(line))) {
    if (run.proof !== proof) continue
    for (const place of [on, 'all']) {
      sums[place] ??= {}
      for (const [what, n] of Object.entries({ runs: 1, ...figures as Record<string, number> })) {
        sums[place][what] = (sums[place][what] ?? 0) + n
      }
    }
  }
  return sums
}
