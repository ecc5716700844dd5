/** `agent-grid connect` and `disconnect` as a person runs them: the built program, a running grid, a browser. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { build } from '../../scripts/build.js'
import { type FakeXdgOpen, fakeXdgOpen } from '../support/fake-xdg-open.ts'
import { rows } from '../support/database.ts'
import { type Home, testHome } from '../support/home.ts'
import { type AnswerConsent, liveConsent } from '../support/live-consent.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

const machine = hostname().split('.')[0]
let program: string
let grid: LiveGrid
let answer: AnswerConsent
let browser: FakeXdgOpen
let home: Home
let decision: 'allow' | 'deny' = 'allow'
let signIns = 0
beforeAll(async () => {
  program = (await build('src/main.ts')).replace(/main\.js$/, 'client.js')
  grid = await liveGrid()
  answer = await liveConsent(grid)
})
beforeEach(async () => {
  decision = 'allow'
  signIns = 0
  home = testHome()
  browser = await fakeXdgOpen(join(home.folder, '../bin'), (url) => {
    signIns++
    void answer(url, decision)
  })
})
afterEach(async () => {
  await browser.close()
  home.remove()
})

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the program in the home folder. */
function run(words: string[], { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {}) {
  const child = spawn(process.execPath, [program, ...words], {
    cwd: home.folder,
    env: { ...home.env, PATH: `${browser.folder}:${process.env.PATH}`, ...env },
  })
  const [out, err]: [string[], string[]] = [[], []]
  child.stdout.setEncoding('utf8').on('data', (text) => out.push(text))
  child.stderr.setEncoding('utf8').on('data', (text) => err.push(text))
  child.stdin.end(input)
  return new Promise<Ended>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout: out.join(''), stderr: err.join('') }))
  )
}

const connections = () =>
  JSON.parse(readFileSync(join(home.env.AGENT_GRID_HOME, 'config/connections.json'), 'utf8')).connections

/** Whether the grid accepts a key. */
async function isAlive(key: string): Promise<boolean> {
  return (await fetch(`${grid.url}/api/v1/me`, { headers: { Authorization: `Bearer ${key}` } })).ok
}

test('a person signs in once per client, each client gets its own key, and disconnecting revokes it', async () => {
  const before = home.tree()
  const claude = await run(['connect', 'claude', '--url', grid.url, '--as', '@bob', '--yes'])
  expect(claude).toMatchObject({ code: 0, stderr: '' })
  expect(claude.stdout).toContain('Claude Code is connected as @bob. New messages wake an idle session')
  expect(claude.stdout).toContain(`To check the connection: npx ${grid.url}/agent-grid.tgz doctor --client\n`)
  expect(claude.stdout).toContain(`To remove it: npx ${grid.url}/agent-grid.tgz disconnect claude\n`)
  const codex = await run(['connect', 'codex', '--as', 'bob', '--yes'])
  expect(codex).toMatchObject({ code: 3, stderr: '' })
  expect(codex.stdout).toMatch(/\nNext: Start codex and approve the hooks/)

  const [first, second] = connections()
  expect([first.keyName, second.keyName]).toEqual([`claude on ${machine}`, `codex on ${machine}`])
  expect(first.key).not.toBe(second.key)
  expect(await Promise.all([isAlive(first.key), isAlive(second.key)])).toEqual([true, true])
  expect(claude.stdout + codex.stdout).not.toContain(first.key)
  const { mcpServers } = JSON.parse(home.read('.claude.json'))
  expect(mcpServers['agent-grid'].headers.Authorization).toBe(`Bearer ${first.key}`)

  const again = await run(['connect', 'claude', '--yes'])
  expect(again).toMatchObject({ code: 0 })
  expect(again.stdout).toMatch(/^Claude Code is connected as @bob\. Nothing changed\.\n/)

  for (const client of ['claude', 'codex']) {
    expect(await run(['disconnect', client, '--yes'])).toMatchObject({ code: 0, stderr: '' })
  }
  expect(home.tree()).toEqual(before)
  const { AGENT_GRID_HOME } = home.env
  expect(readdirSync(AGENT_GRID_HOME, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())).toEqual(
    [],
  )
  expect(await Promise.all([isAlive(first.key), isAlive(second.key)])).toEqual([false, false])
  expect(await run(['disconnect', 'codex', '--yes'])).toMatchObject({ code: 0, stdout: 'Codex is not connected.\n' })
})

test('a person signs in once for all clients of a machine, which get separate keys', async () => {
  home.write('.codex/config.toml', '')
  home.write('.gemini/settings.json', '{}')
  home.write('.claude/settings.json', '{}')

  const all = await run(['connect', 'all', '--url', grid.url, '--as', '@bob', '--yes'])
  expect(all).toMatchObject({ stderr: '' })
  expect(signIns).toBe(1)
  expect(all.stdout).toMatch(/choose @bob for Claude Code, Codex, (?:.*, )?Gemini CLI/)
  const made = connections()
  const clients = made.map(({ client }: { client: string }) => client)
  expect(clients).toEqual(expect.arrayContaining(['claude', 'codex', 'gemini']))
  for (const { client, keyName, alias } of made) expect([keyName, alias]).toEqual([`${client} on ${machine}`, '@bob'])
  expect(new Set(made.map(({ key }: { key: string }) => key)).size).toBe(made.length)

  const [kept, ended] = ['codex', 'claude'].map((name) => made[clients.indexOf(name)].key)
  await run(['disconnect', 'claude', '--yes'])
  expect(await Promise.all([isAlive(kept), isAlive(ended)])).toEqual([true, false])
})

test('if connect cannot connect one of several clients, it connects none and starts no sign-in', async () => {
  home.write('.claude/settings.json', '{}')
  home.write('.gemini/settings.json', '{ "hooks": ')

  const refused = await run(['connect', 'all', '--url', grid.url, '--yes'])

  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/settings\.json is not valid JSON/) })
  expect([signIns, home.read('.claude/settings.json')]).toEqual([0, '{}'])
})

test('connecting as a different agent replaces the first agent, whose key is revoked', async () => {
  await run(['connect', 'claude', '--url', grid.url, '--as', '@bob', '--yes'])
  const [{ key }] = connections()
  const other = await run(['connect', 'claude', '--as', '@alice', '--wake', 'start', '--yes'])

  expect(other).toMatchObject({ code: 0, stderr: '' })
  expect(connections()).toMatchObject([{ alias: '@alice', wake: 'start' }])
  expect(await isAlive(key)).toBe(false)
  expect(home.read('.claude/settings.json')).not.toMatch(/@bob|asyncRewake/)
})

test("connect allows tools by name only with the person's consent, and remembers the answer", async () => {
  const env = { AGENT_GRID_KEY: grid.bob.key }
  const connect = (...words: string[]) => run(['connect', 'claude', '--url', grid.url, '--yes', ...words], { env })
  const allowed = () => JSON.parse(home.read('.claude/settings.json')).permissions?.allow
  const unasked = await connect()
  expect(unasked.stdout).toMatch(/asks before calls of read_messages, send_message, [^]*connect claude --tools allow/)
  expect(allowed()).toBeUndefined()

  const asked = await connect('--tools', 'allow')
  expect(asked.stdout).toContain('+       "mcp__agent-grid__list_reservations"')
  expect(asked.stdout).not.toContain('asks before calls')
  expect(allowed()).toEqual(
    [
      ...['read_messages', 'send_message', 'message_status', 'retract_message'],
      ...['list_agents', 'list_channels', 'read_part', 'update_task'],
      ...['reserve', 'list_reservations'],
    ].map((tool) => `mcp__agent-grid__${tool}`),
  )
  expect((await connect()).stdout).toContain('Nothing changed')
  const warned = await connect('--edit-warnings', 'on')
  expect(warned.stdout).toContain('hook claude edit --as @bob')
  await connect('--tools', 'ask')
  expect(allowed()).toBeUndefined()
})

test('connect uses a given key without a browser, and disconnect does not revoke it', async () => {
  const { key } = grid.bob
  const env = { AGENT_GRID_KEY: key }
  const ofVariable = await run(['connect', 'gemini', '--url', grid.url, '--yes'], { env })
  const ofFile = await run(['connect', 'cursor', '--url', grid.url, '--yes', '--key-file', '-'], { input: `${key}\n` })
  expect([ofVariable.code, ofFile.code]).toEqual([0, 0])
  expect(connections().map(({ alias }: { alias: string }) => alias)).toEqual(['@bob', '@bob'])
  expect(statSync(join(home.folder, '.cursor/mcp.json')).mode & 0o777).toBe(0o600)

  await run(['disconnect', 'gemini', '--yes'])
  expect(await isAlive(key)).toBe(true)
  const wrong = await run(['connect', 'gemini', '--url', grid.url, '--as', '@alice', '--yes'], { env })
  expect(wrong).toMatchObject({ code: 1, stderr: 'The key is for @bob, not for @alice.\n' })
})

test('connect shows the changes, and without a confirmation it writes nothing and leaves no files', async () => {
  const dry = await run(['connect', 'claude', '--url', grid.url, '--as', '@bob', '--dry-run'])
  expect(dry).toMatchObject({ code: 0, stderr: '' })
  expect(dry.stdout).toContain('~/.claude.json is new\n')
  const settings = dry.stdout.split('\n\n').find((part) => part.startsWith('~/.claude/settings.json is new\n'))!
  expect(Object.keys(JSON.parse(settings.replace(/^.*\n/, '').replaceAll(/^ {2}\+ /gm, '')).hooks)).toContain('Stop')
  expect(home.tree()).toEqual({})

  const unsure = await run(['connect', 'vscode', '--url', grid.url, '--as', '@bob'])
  expect(unsure).toMatchObject({ code: 3, stderr: expect.stringContaining('run the command again with --yes') })
  expect(home.tree()).toEqual({})
  // The command stopped before the sign-in, so it created no key.
  const sql = 'SELECT revoked_at FROM credentials WHERE account_id = ? AND name LIKE ?'
  expect(await rows(grid, sql, [grid.acme.id, 'vscode on %'])).toEqual([])
  expect(existsSync(join(home.env.AGENT_GRID_HOME, 'data'))).toBe(false)
})

test('connect reports that the person refused in the browser, or that a file cannot be edited', async () => {
  home.write('.claude/settings.json', '{ "hooks": ')
  const refused = await run(['connect', 'claude', '--url', grid.url, '--yes', '--json'])
  expect(refused.code).toBe(1)
  expect(JSON.parse(refused.stdout).error).toMatchObject({
    code: 'file_refused',
    message: expect.stringMatching(/settings\.json is not valid JSON at line 1/),
  })

  decision = 'deny'
  const denied = await run(['connect', 'codex', '--url', grid.url, '--as', '@bob', '--yes'])
  expect(denied).toMatchObject({ code: 1, stderr: 'You did not allow it. Nothing was changed.\n' })
  expect(readdirSync(home.folder)).toEqual(['.claude'])
})

test.each([
  ['no grid at all', ['connect', 'claude'], 2, /connect needs --url/],
  [
    'a grid that does not answer',
    ['connect', 'claude', '--url', 'http://127.0.0.1:1', '--yes'],
    1,
    /could not be reached/,
  ],
  [
    'no client, and nobody to ask',
    ['connect', '--url', 'http://127.0.0.1:1'],
    2,
    /No client was found|Name the client/,
  ],
])('connect with %s ends with the right exit code and message', async (_, words, code, message) => {
  const ended = await run(words)

  expect(ended).toMatchObject({ code, stderr: expect.stringMatching(message) })
})

test('connect installs the program next to earlier versions, under a path that never changes', async () => {
  const env = { AGENT_GRID_KEY: grid.bob.key }
  await run(['connect', 'opencode', '--url', grid.url, '--yes'], { env })
  const installed = join(home.env.AGENT_GRID_HOME, 'data/program')
  const [version] = readdirSync(installed).filter((name) => /^[0-9a-f]{16}$/.test(name))
  expect(readdirSync(installed).sort()).toEqual([version, 'agent-grid', 'agent-grid.mjs', 'opencode-plugin.js'].sort())

  const child = spawn(join(installed, 'agent-grid'), ['--version'], { env: home.env })
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk
  expect(text).toMatch(/^agent-grid \d/)
  expect(home.read('.config/opencode/plugins/agent-grid.js')).toContain('/program/opencode-plugin.js')
  const { mcp } = JSON.parse(home.read('.config/opencode/opencode.json'))
  const [, path] = mcp['agent-grid'].headers.Authorization.match(/\{file:(.*)\}/)
  expect(readFileSync(path, 'utf8')).toBe(grid.bob.key)
})
