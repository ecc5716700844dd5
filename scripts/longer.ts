/**
 * `npm run chaos`, `npm run faults`, and in `npm run lab` fuzz, task-streams, reservations, flood and new-connections: a test of
 * `npm test`, longer. Options replace the defaults below. A seed decides what happens when; each run prints its own.
 */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { parseArgs } from 'node:util'

/** The options of each, with the variable that the test reads and the default. */
const tests: Record<string, Record<string, [variable: string, fallback?: string]>> = {
  // With `--database file`, one process after the other, each on its own local file.
  chaos: {
    seconds: ['CHAOS_SECONDS', '60'],
    runtime: ['CHAOS_RUNTIMES', 'node,deno,bun'],
    database: ['CHAOS_DATABASE', 'libsql-server'],
    seed: ['CHAOS_SEED'],
  },
  faults: { rounds: ['FAULTS_ROUNDS', '50'], runtime: ['FAULTS_RUNTIME', 'node'], seed: ['FAULTS_SEED'] },
  fuzz: { requests: ['FUZZ_REQUESTS', '200000'], seed: ['FUZZ_SEED'] },
  // 500 tasks of 20 events, and 300 events from one process to each of two others.
  'task-streams': {
    tasks: ['STREAM_TASKS', '500'],
    kills: ['STREAM_KILLS', '10'],
    events: ['STREAM_EVENTS', '300'],
  },
  reservations: { reservations: ['RESERVATIONS', '10000'], kills: ['RESERVATION_KILLS', '10'] },
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
const { status } = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    `${places[name] ?? 'test/e2e'}/${name}.test.ts`,
  ],
  { stdio: 'inherit', env: { ...process.env, ...Object.fromEntries(variables.filter(([, value]) => value)) } },
)
process.exit(status ?? 1)
