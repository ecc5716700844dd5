/**
 * `npm run faults`: runs the fault test (one process on a local file: kills, a full disk, EIO, clock jumps) longer than
 * `npm test`, and prints what was acknowledged, lost, doubled and out of order.
 */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    /** Determines the faults. Each run prints its seed. */
    seed: { type: 'string' },
    runtime: { type: 'string', default: 'node' },
  },
})
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', 'test/e2e/faults.test.ts'],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      FAULTS_ROUNDS: values.rounds,
      FAULTS_RUNTIME: values.runtime,
      ...(values.seed !== undefined && { FAULTS_SEED: values.seed }),
    },
  },
)
process.exit(status ?? 1)
