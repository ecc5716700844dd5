/**
 * `npm run chaos`: runs the chaos test (three processes on one libsql-server, load, random kills) longer than `npm
 * test`.
 */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    /** Determines what is killed when. Each run prints its seed. */
    seed: { type: 'string' },
    runtime: { type: 'string', default: 'node,deno,bun' },
  },
})
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/e2e/chaos.test.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    CHAOS_SECONDS: values.seconds,
    CHAOS_RUNTIMES: values.runtime,
    ...(values.seed !== undefined && { CHAOS_SEED: values.seed }),
  },
})
process.exit(status ?? 1)
