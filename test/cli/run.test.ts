import { afterEach, beforeEach, expect, test } from 'vitest'
import { wordsOfRun } from '../../src/cli/run.ts'
import { systemdUserUnit } from '../../src/clients/run/service.ts'
import { type InboxServer, startInboxServer } from '../support/inbox-server.ts'
import { runCommand } from '../support/process.ts'
import { runnerFolder } from '../support/runner.ts'

let grid: InboxServer
let place: ReturnType<typeof runnerFolder>

beforeEach(async () => {
  place = runnerFolder()
  grid = await startInboxServer()
})

afterEach(async () => {
  await grid.close()
  place.remove()
})

const run = (words: string[], env: Record<string, string> = {}) =>
  runCommand('node', ['run', ...words], { AGENT_GRID_HOME: process.env.AGENT_GRID_HOME!, ...env })

test.each([
  [[], 'Name a client'],
  [['--claude', '--codex'], 'Name one client'],
  [['--claude', '--timeout', '15'], '--timeout must be a duration from 1s to 12h'],
  [['--claude', '--max-turns-per-hour', 'many'], '--max-turns-per-hour must be a number above 0'],
  [['--codex', '--max-usd-per-day', '5'], 'codex does not report its cost'],
  [['--per', 'day', '--', 'cat'], '--per must be one of thread, batch'],
])('run refuses the arguments %j with exit code 2', async (words, message) => {
  const { code, stderr } = await run(words)

  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
})

test('run exits with 3 if the agent is not connected, the client is not installed, or the key is revoked', async () => {
  expect(await run(['--as', '@worker', '--', 'cat'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('This machine is not connected as @worker'),
  })

  const access = { AGENT_GRID_URL: grid.url, AGENT_GRID_KEY: 'ag_key' }
  expect(await run(['--', 'no-such-program'], access)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('There is no executable program no-such-program'),
  })

  grid.revoke()
  expect(await run(['--', 'cat'], access)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('AGENT_GRID_KEY does not work'),
  })
})

test("the systemd unit of run contains the runner's complete command line", () => {
  const agent = { alias: '@worker', url: 'https://grid.example.com' }
  const args = { as: 'worker', claude: 'yes', per: 'batch', service: 'yes' }
  const words = wordsOfRun(agent, args, ['--model', 'a "b" $c 100%'])
  const unit = systemdUserUnit({ agent: '@worker', words: ['/opt/node', ...words], folder: '/a 50%', path: '/bin:/$x' })

  expect(unit).toMatch(
    /^ExecStart="\/opt\/node" "run" "--as" "@worker" "--url" "https:\/\/grid\.example\.com" "--claude" "--per" "batch" "--" "--model" "a \\"b\\" \$\$c 100%%"$/m,
  )
  expect(unit).toContain('WorkingDirectory=/a 50%%\nEnvironment="PATH=/bin:/$x"\n')
  expect(unit).toContain('RestartPreventExitStatus=2 3')
  expect(unit).toContain('systemctl --user enable --now agent-grid-worker.service')
})

test('run --service does not write a key from the environment into a unit', async () => {
  const access = { AGENT_GRID_URL: grid.url, AGENT_GRID_KEY: 'ag_key' }

  expect(await run(['--service', '--', 'cat'], access)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Run "agent-grid connect" first'),
  })
})
