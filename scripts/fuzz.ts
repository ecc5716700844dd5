/**
 * `npm run fuzz`: runs the fuzz test (changed requests over all doors) longer than `npm test`.
 */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '200000' },
    /** Determines the requests. Each run prints its seed. */
    seed: { type: 'string' },
  },
})
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/e2e/fuzz.test.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    FUZZ_REQUESTS: values.requests,
    ...(values.seed !== undefined && { FUZZ_SEED: values.seed }),
  },
})
process.exit(status ?? 1)
