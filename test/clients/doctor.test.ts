import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Connection, saveConnection } from '../../src/clients/connections.ts'
import { agentsHere, type ClientFinding, examineClients } from '../../src/cli/examine-clients.ts'
import { hashOfText } from '../../src/clients/files/written-file.ts'
import { installedProgram } from '../../src/clients/installed-program.ts'
import { conversationTools } from '../../src/clients/programs.ts'
import { runnerLock } from '../../src/clients/run/run-state.ts'
import { markOf, takeLock } from '../../src/clients/state/lock.ts'
import { stateFolder } from '../../src/clients/state/paths.ts'
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

/** Returns the result of one check of the only connection. */
async function found(check: ClientFinding['check']): Promise<Pick<ClientFinding, 'status' | 'found'>> {
  const [{ checks }] = await examineClients(Date.now)
  const { status, found } = checks.find((finding) => finding.check === check)!
  return { status, found }
}

const like = (text: string) => expect.stringContaining(text)
const skill = () => join(place.folder, 'SKILL.md')
const claudeSettings = () => join(process.env.CLAUDE_CONFIG_DIR!, 'settings.json')

/** Saves a connection with one file that `connect` wrote. */
async function connectWithFile(): Promise<void> {
  const [path, text] = [skill(), 'a skill']
  writeFileSync(path, text)
  const file = { path, before: null, after: hashOfText(text), folders: [], insertions: [], entries: [] }
  await connect({ files: [{ ...file, format: 'own' }] })
}

test('the doctor finds nothing wrong with a correctly connected client', async () => {
  await connectWithFile()
  const [{ checks, ...about }] = await examineClients(Date.now)

  expect(about).toEqual({ agent: '@worker', grid: grid.url, client: 'claude', folder: null })
  expect(checks.map(({ check, status }) => [check, status])).toEqual(
    ['files', 'program', 'client', 'hooks', 'tools', 'grid', 'key', 'version', 'clock', 'waiter'].map((
      check,
    ) => [check, 'ok']),
  )
})

test("the doctor names the agent of a folder's own tools and hooks, not the agent of a project in a parent folder", async () => {
  const inner = join(place.folder, 'project', 'inner')
  mkdirSync(inner, { recursive: true })
  await connect({ alias: '@user' })
  await connect({ alias: '@project', scope: 'project', folder: dirname(inner) })
  await connect({ client: 'codex', alias: '@quiet', wake: 'off' })
  const quiet = { client: 'codex', tools: '@quiet', hooks: null }

  expect(agentsHere(dirname(inner))).toEqual([{ client: 'claude', tools: '@project', hooks: '@project' }, quiet])
  expect(agentsHere(inner)).toEqual([{ client: 'claude', tools: '@user', hooks: '@user' }, quiet])
})

const faults: [ClientFinding['check'], ClientFinding['status'], string, () => unknown][] = [
  ['files', 'warning', 'have been changed', () => writeFileSync(skill(), 'another skill')],
  ['files', 'broken', 'are gone', () => rmSync(skill())],
  ['program', 'broken', 'which is gone', () => rmSync(installedProgram().command.at(-1)!)],
  ['client', 'broken', '2.1.197 and later', () => place.program('claude', "console.log('2.1.9 (Claude Code)')")],
  ['client', 'broken', 'claude is not installed', () => process.env.PATH = join(place.folder, 'nothing')],
  [
    'hooks',
    'broken',
    '"disableAllHooks": true',
    () => writeFileSync(claudeSettings(), '{ "disableAllHooks": true, }//'),
  ],
  [
    'tools',
    'warning',
    'not been asked yet about reserve and list_reservations',
    () => connect({ askedTools: conversationTools.slice(0, -2), allowedTools: ['read_messages'] }),
  ],
  ['key', 'broken', 'The grid does not accept the key', () => grid.revoke()],
  ['grid', 'ok', 'answers', () => grid.revoke()],
  ['grid', 'broken', 'could not be reached', () => grid.close()],
  ['key', 'skipped', 'Only the grid knows', () => grid.close()],
  ['key', 'warning', 'The key belongs to @worker, not to @other.', () => connect({ alias: '@other' })],
  ['clock', 'warning', '600 s behind the clock', () => grid.pretend({ clock: () => Date.now() + 600_000 })],
  ['version', 'warning', 'the grid is 0.9.0', () => grid.pretend({ version: '0.9.0' })],
]

test.each(faults)('the check %s is %s: %s', async (check, status, text, act) => {
  await connectWithFile()
  await act()

  expect(await found(check)).toEqual({ status, found: like(text) })
})

test.each([
  [[], 'broken', 'Codex has no hooks of agent-grid'],
  [[{ trustStatus: 'trusted' }, { trustStatus: 'modified' }], 'broken', 'Codex does not trust 1 of its 2 hooks'],
  [[{ trustStatus: 'trusted', enabled: false }], 'broken', 'switched off in Codex'],
  [[{ trustStatus: 'trusted', enabled: true }], 'ok', 'Codex trusts its 1 hooks'],
])('the doctor reports which hooks Codex trusts: %j', async (hooks, status, text) => {
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

test("the doctor reports who waits for messages: a runner, another client's session, or nobody", async () => {
  const connection = await connect()
  await saveSession(connection, { ...markOf(process.pid)!, client: 'claude', wakes: true })
  expect(await found('waiter')).toEqual({ status: 'warning', found: like('nothing waits for messages') })

  const waiter = takeLock(join(stateFolder(connection), 'waiter.lock'), { client: 'opencode' })
  expect(await found('waiter')).toEqual({ status: 'warning', found: like('New messages wake a session of opencode') })
  waiter!.release()

  takeLock(runnerLock(connection))
  expect(await found('waiter')).toEqual({ status: 'ok', found: like('A runner works for @worker') })
})

test('the doctor prints its findings with remedies, and its exit code shows their severity', async () => {
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
  expect(broken.stdout).toMatch(
    /broken +key +The grid does not accept the key[^]*→ The key was revoked\. Connect again/,
  )
})
