import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Connection, saveConnection } from '../../src/clients/connections.ts'
import { type ClientFinding, examineClients } from '../../src/cli/client-doctor/examine.ts'
import { hashOfText, type WrittenFile } from '../../src/clients/files/written-file.ts'
import { installedProgram } from '../../src/clients/installed-program.ts'
import { runnerLock } from '../../src/clients/run/run-state.ts'
import { takeLock } from '../../src/clients/state/lock.ts'
import { stateFolder } from '../../src/clients/state/paths.ts'
import { markOf } from '../../src/clients/state/processes.ts'
import { saveSession } from '../../src/clients/state/sessions.ts'
import { type InboxServer, startInboxServer } from '../support/inbox-server.ts'
import { runCommand } from '../support/process.ts'
import { runnerFolder } from '../support/runner.ts'

const variables = ['PATH', 'CLAUDE_CONFIG_DIR'] as const
let grid: InboxServer
let place: ReturnType<typeof runnerFolder>
let before: (string | undefined)[]

beforeEach(async () => {
  before = variables.map((name) => process.env[name])
  place = runnerFolder()
  grid = await startInboxServer()
  process.env.PATH = [place.folder, process.env.PATH].join(delimiter)
  process.env.CLAUDE_CONFIG_DIR = join(place.folder, 'claude-folder')
  mkdirSync(process.env.CLAUDE_CONFIG_DIR)
  for (const path of installedProgram().command) {
    mkdirSync(dirname(path), { recursive: true })
    if (path !== process.execPath) writeFileSync(path, '')
  }
  place.program('claude', "console.log('2.1.330 (Claude Code)')")
})

afterEach(async () => {
  variables.forEach((name, n) => before[n] === undefined ? delete process.env[name] : process.env[name] = before[n])
  await grid.close()
  place.remove()
})

async function connect(other: Partial<Connection> = {}): Promise<Connection> {
  const connection: Connection = {
    ...{ url: grid.url, alias: '@worker', key: 'ag_key', client: 'claude', scope: 'user', wake: 'auto' },
    ...{ keyName: 'claude on laptop', isOwnKey: true, files: [], at: '2026-11-22T00:00:00.000Z', ...other },
  }
  await saveConnection(connection)
  return connection
}

/** What one check found, of the only connection. */
async function found(check: ClientFinding['check']): Promise<Pick<ClientFinding, 'status' | 'found'>> {
  const [{ checks }] = await examineClients(Date.now)
  const { status, found } = checks.find((finding) => finding.check === check)!
  return { status, found }
}

const like = (text: string) => expect.stringContaining(text)

function ownFile(text: string): WrittenFile {
  const path = join(place.folder, 'SKILL.md')
  writeFileSync(path, text)
  return { path, format: 'own', before: null, after: hashOfText(text), folders: [], insertions: [], entries: [] }
}

test('a client that is connected as it should be is well', async () => {
  await connect({ files: [ownFile('a skill')] })
  const [{ checks, ...about }] = await examineClients(Date.now)

  expect(about).toEqual({ agent: '@worker', grid: grid.url, client: 'claude', folder: null })
  expect(checks.map(({ check, status }) => [check, status])).toEqual(
    ['files', 'program', 'client', 'hooks', 'grid', 'key', 'version', 'clock', 'waiter'].map((check) => [check, 'ok']),
  )
})

test('files that were changed or removed since are named', async () => {
  const file = ownFile('a skill')
  await connect({ files: [file] })
  writeFileSync(file.path, 'another skill')
  expect(await found('files')).toEqual({
    status: 'warning',
    found: `What was written to ${file.path} was changed since.`,
  })

  rmSync(file.path)
  expect(await found('files')).toEqual({ status: 'broken', found: `What was written to ${file.path} is gone.` })
})

test('the program that hooks call may be gone', async () => {
  await connect()
  rmSync(installedProgram().command.at(-1)!)

  expect(await found('program')).toEqual({ status: 'broken', found: like('which is gone') })
})

test('a client may be missing, or too old to be woken', async () => {
  await connect()
  place.program('claude', "console.log('2.1.9 (Claude Code)')")
  expect(await found('client')).toEqual({
    status: 'broken',
    found: like('claude is 2.1.9. New messages wake it from 2.1.197 on'),
  })

  process.env.PATH = join(place.folder, 'nothing')
  expect(await found('client')).toEqual({ status: 'broken', found: like('claude is not installed') })
})

test('hooks of Claude Code may be switched off, in a file with comments too', async () => {
  await connect()
  const path = join(process.env.CLAUDE_CONFIG_DIR!, 'settings.json')
  writeFileSync(path, '{ // no hooks\n "disableAllHooks": true, }')

  expect(await found('hooks')).toEqual({ status: 'broken', found: `${path} has "disableAllHooks": true.` })
})

test.each([
  [[], 'broken', 'Codex has no hooks of agent-grid'],
  [[{ trustStatus: 'untrusted' }], 'broken', 'Codex does not trust 1 of its 1 hooks'],
  [[{ trustStatus: 'trusted' }, { trustStatus: 'modified' }], 'broken', 'Codex does not trust 1 of its 2 hooks'],
  [[{ trustStatus: 'trusted', enabled: false }], 'broken', 'switched off in Codex'],
  [[{ trustStatus: 'trusted', enabled: true }], 'ok', 'Codex trusts its 1 hooks'],
])('Codex says itself which hooks it trusts: %j', async (hooks, status, text) => {
  const own = hooks.map((hook) => ({ command: '/bin/node /x/agent-grid.mjs hook codex start --as @worker', ...hook }))
  const others = [{ command: 'echo hi', trustStatus: 'untrusted' }]
  const answer = JSON.stringify({ id: 2, result: { data: [{ cwd: '/', hooks: [...own, ...others] }] } })
  place.program(
    'codex',
    `if (process.argv[2] === '--version') console.log('codex-cli 0.169.0')
     else process.stdin.on('data', (text) => String(text).includes('hooks/list') && console.log(${
      JSON.stringify(answer)
    }))`,
  )
  await connect({ client: 'codex' })

  expect(await found('hooks')).toEqual({ status, found: like(text) })
})

test('a key that was revoked and a grid that cannot be reached are told apart', async () => {
  await connect()
  grid.revoke()
  expect(await found('grid')).toMatchObject({ status: 'ok' })
  expect(await found('key')).toEqual({ status: 'broken', found: like('The grid does not accept the key') })

  await grid.close()
  expect(await found('grid')).toEqual({ status: 'broken', found: like('could not be reached') })
  expect(await found('key')).toMatchObject({ status: 'skipped' })
})

test('a key of another agent, a clock that is wrong, and another version are warnings', async () => {
  await connect({ alias: '@other' })
  grid.pretend({ clock: () => Date.now() + 600_000, version: '0.9.0' })

  expect(await found('key')).toEqual({ status: 'warning', found: 'The key is of @worker, not of @other.' })
  expect(await found('clock')).toEqual({ status: 'warning', found: like('600 s behind the clock of the grid') })
  expect(await found('version')).toEqual({ status: 'warning', found: like('the grid is 0.9.0') })
})

test('who waits for messages is told: a runner, a session of another client, or nobody although one is open', async () => {
  const connection = await connect()
  await saveSession(connection, { ...markOf(process.pid)!, client: 'claude', wakes: true })
  expect(await found('waiter')).toEqual({ status: 'warning', found: like('nothing waits for messages') })

  const waiter = takeLock(join(stateFolder(connection), 'waiter.lock'), { client: 'opencode' })
  expect(await found('waiter')).toEqual({ status: 'warning', found: like('New messages wake a session of opencode') })
  waiter!.release()

  takeLock(runnerLock(connection))
  expect(await found('waiter')).toEqual({ status: 'ok', found: like('A runner works for @worker') })
})

test('the command prints the findings with what to do, and its exit code tells how bad they are', async () => {
  const env = () => ({
    ...{ AGENT_GRID_HOME: process.env.AGENT_GRID_HOME!, CLAUDE_CONFIG_DIR: process.env.CLAUDE_CONFIG_DIR! },
    PATH: process.env.PATH!,
  })
  expect(await runCommand('node', ['doctor', '--client'], env())).toMatchObject({
    code: 3,
    stderr: like('No client is connected'),
  })

  await connect({ wake: 'off' })
  const well = await runCommand('node', ['doctor', '--client', '--json'], env())
  expect([well.code, JSON.parse(well.stdout).status]).toEqual([0, 'well'])

  grid.revoke()
  const broken = await runCommand('node', ['doctor', '--client'], env())
  expect(broken.code).toBe(1)
  expect(broken.stdout).toMatch(/broken +key +The grid does not accept the key[^]*→ It was revoked\. Connect again/)
})
