/** `npm run task-streams`: runs the test of streams over kills with 500 tasks of 20 events and 10 kills, or as many as given. */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '500' },
    kills: { type: 'string', default: '10' },
  },
})
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', 'test/e2e/task-streams.test.ts'],
  { stdio: 'inherit', env: { ...process.env, STREAM_TASKS: values.tasks, STREAM_KILLS: values.kills } },
)
process.exit(status ?? 1)
