/**
 * `npm run task-streams`: runs the tests of streams over kills and processes with more: 500 tasks of 20 events and 10
 * kills, and 300 events from one process to each of two others. See docs/operations.md, "Scripts".
 */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '500' },
    kills: { type: 'string', default: '10' },
    events: { type: 'string', default: '300' },
  },
})
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', 'test/e2e/task-streams.test.ts'],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...{ STREAM_TASKS: values.tasks, STREAM_KILLS: values.kills, STREAM_EVENTS: values.events },
    },
  },
)
process.exit(status ?? 1)
