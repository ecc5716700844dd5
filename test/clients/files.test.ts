/** The entries that `connect` writes into clients' files, and that `disconnect` removes again. */
import { spawnSync } from 'node:child_process'
import { chownSync, linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { parse as parseToml } from 'smol-toml'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answersOf } from '../../src/cli/connect-clients.ts'
import { clientNames, conversationTools, programs } from '../../src/clients/programs.ts'
import { type Connection, removeConnection, saveConnection } from '../../src/clients/connections.ts'
import { stateOfFile } from '../../src/clients/files/change.ts'
import { differenceOf } from '../../src/clients/files/difference.ts'
import { skill } from '../../src/clients/primer.ts'
import { connectFiles, disconnectFiles, planFor } from '../support/connected.ts'
import { type Home, testHome } from '../support/home.ts'
import { type StartingState, startingStates } from './starting-states.ts'

const allowedTools = conversationTools
const key = `grid_agt_${'k'.repeat(49)}`
let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

/** Writes the files of a starting state. Returns its project's folder. */
function begin({ files, project }: StartingState): string | undefined {
  for (const [path, file] of Object.entries(files)) home.write(path, file)
  return project === undefined ? undefined : join(home.folder, project)
}

test.each(startingStates)('connecting and disconnecting restores every byte: $title', (state) => {
  const { client, meanwhile, after } = state
  const folder = begin(state)
  const before = home.tree()

  const connection = connectFiles(client, { folder, allowedTools })
  const connected = home.tree()
  meanwhile?.(home)
  const changed = home.tree()
  const again = connectFiles(client, { folder, allowedTools }, connection)

  expect(connected).not.toEqual(before)
  expect(home.tree(), 'connected twice').toEqual(changed)
  expect(disconnectFiles(again)).toEqual([])
  expect(home.tree()).toEqual({ ...before, ...after })
})

test.each(startingStates)(
  'connecting as one agent, then as another, and disconnecting restores every byte: $title',
  (state) => {
    const folder = begin(state)
    const before = home.tree()

    const first = connectFiles(state.client, { folder, allowedTools })
    const other = { folder, alias: '@bob', key: `grid_agt_${'b'.repeat(49)}`, wake: 'start' as const }
    const second = connectFiles(state.client, other, first)
    const texts = Object.values(home.tree()).join('\n')
    expect(texts).not.toContain('@ann')
    expect(texts).not.toContain(key)
    disconnectFiles(second)

    expect(home.tree()).toEqual(before)
  },
)

test.each(clientNames)(
  'only the user can read files of %s with a key, and project files contain no key, home folder or agent',
  (client) => {
    const folder = join(home.folder, 'work')
    mkdirSync(folder)
    connectFiles(client)
    const withKey = Object.values(home.tree()).filter((file) => file.includes(key))
    for (const file of withKey) expect(file).toMatch(/^600 /)

    connectFiles(client, { folder, allowedTools })
    const ofProject = Object.entries(home.tree()).filter(([path]) => path.startsWith('work'))
    expect(ofProject.length).toBeGreaterThan(1)
    for (const [path, file] of ofProject) {
      for (const own of ['grid_agt_', home.folder, home.env.AGENT_GRID_HOME, '@ann']) {
        expect(file, path).not.toContain(
          own,
        )
      }
    }
  },
)

test("a project's hook runs the program if the program is installed, and otherwise does nothing", () => {
  const folder = join(home.folder, 'work')
  connectFiles('codex', { folder })
  const { hooks } = JSON.parse(home.read('work/.codex/hooks.json'))
  const run = () => spawnSync('sh', ['-c', hooks.Stop[0].hooks[0].command], { env: process.env, encoding: 'utf8' })
  expect(run()).toMatchObject({ status: 0, stdout: '', stderr: '' })

  const launcher = join(home.env.AGENT_GRID_HOME, 'data/program/agent-grid')
  mkdirSync(dirname(launcher), { recursive: true })
  writeFileSync(launcher, '#!/bin/sh\necho "$@"\nexit 2\n', { mode: 0o755 })
  expect(run()).toMatchObject({ status: 2, stdout: 'hook codex stop --project\n' })
})

test.each(['', undefined])("a project's hook runs no program of another folder if AGENT_GRID_HOME is %j", (value) => {
  const folder = join(home.folder, 'work')
  for (const client of clientNames) connectFiles(client, { folder })
  const { hooks } = JSON.parse(home.read('work/.codex/hooks.json'))
  const { AGENT_GRID_HOME: _, ...others } = home.env
  const env = { ...others, ...(value !== undefined && { AGENT_GRID_HOME: value }) }
  // With this shell function, every file counts as executable.
  const run = spawnSync('sh', [
    '-c',
    `test() { [ "$1" = -x ] || command test "$@"; }; ${hooks.Stop[0].hooks[0].command}`,
  ], {
    env,
    encoding: 'utf8',
  })
  expect(run).toMatchObject({ status: 0, stdout: '', stderr: '' })

  const texts = Object.entries(home.tree()).filter(([path]) => path.startsWith('work')).map(([, text]) => text).join(
    '\n',
  )
  const commands = [...texts.matchAll(/test -x \\"\$(\w+)/g)]
  expect(commands.length).toBeGreaterThan(5)
  for (const { index, 1: name } of commands) {
    expect(texts.slice(0, index)).toMatch(new RegExp(`test -n \\\\"\\$${name}\\\\" && $`))
  }

  // Without the variable, the program's path must not become relative to the working folder.
  const plugin = 'export const AgentGrid = () => { console.log("foreign") }\n'
  home.write('undefined/data/program/opencode-plugin.js', plugin)
  const load = `import('./work/.opencode/plugins/agent-grid.js').then((found) => found.AgentGrid())`
  const loaded = spawnSync(process.execPath, ['-e', load], { cwd: home.folder, env, encoding: 'utf8' })
  expect(loaded).toMatchObject({ status: 0, stdout: '' })
})

test('connecting as another agent changes only our entries, keeps other additions, and shows only the changes', () => {
  home.write('.codex/config.toml', 'model = "x"\n')
  const first = connectFiles('codex', { allowedTools })
  const table = '[mcp_servers.agent-grid]\n'
  const added = home.read('.codex/config.toml').replace(table, `${table}startup_timeout_sec = 2\n`)
  const text = added.replace(
    'list_reservations.approval_mode = "approve"',
    'list_reservations.approval_mode = "prompt"',
  )
  home.write('.codex/config.toml', { text: `${text}\n[mcp_servers.agent-grid.tools.set_skills]\nx = 1\n`, mode: 0o600 })
  expect(first.files.map(stateOfFile)).toEqual(['there', 'there', 'there'])
  const other = `grid_agt_${'b'.repeat(49)}`
  const { plan } = planFor('codex', { key: other, allowedTools: ['read_messages'] }, first)
  const [config] = plan.changes
  const removed = allowedTools.slice(1, -1).map((tool) => `  - tools.${tool}.approval_mode = "approve"`)

  expect(config.next).toContain('startup_timeout_sec = 2')
  expect(config.next).toContain('tools.set_skills]\nx = 1\n')
  expect(differenceOf([config], [key, other])).toBe(
    [
      '~/.codex/config.toml is changed',
      '  - http_headers.Authorization = "Bearer grid_agt_…kkkk"',
      '  …',
      ...removed,
      '  …',
      '  + http_headers.Authorization = "Bearer grid_agt_…bbbb"',
    ].join('\n'),
  )
})

test('the hook before edits is written only with consent, even for a client that is not woken', () => {
  const before = home.tree()
  const off = connectFiles('claude', { wake: 'off', editWarnings: true })
  expect(JSON.parse(home.read('.claude/settings.json')).hooks).toEqual({
    PreToolUse: [{
      matcher: 'Edit|Write|MultiEdit|NotebookEdit',
      hooks: [{ type: 'command', command: expect.stringContaining('hook claude edit --as @ann'), timeout: 5 }],
    }],
  })
  const on = connectFiles('claude', { editWarnings: true }, off)
  expect(Object.keys(JSON.parse(home.read('.claude/settings.json')).hooks)).toEqual(
    expect.arrayContaining(['PreToolUse', 'Stop']),
  )
  const without = connectFiles('claude', { editWarnings: false }, on)
  expect(home.read('.claude/settings.json')).not.toContain('PreToolUse')
  disconnectFiles(without)
  expect(home.tree()).toEqual(before)
})

test.each(clientNames.filter((name) => programs[name].permissions))(
  'tools of a later version are added to those that %s may call without asking',
  (client) => {
    const before = home.tree()
    const first = connectFiles(client, { allowedTools: ['read_messages'] })
    const textsOf = (connection: Connection) =>
      connection.files.map(({ path }) => readFileSync(path, 'utf8')).join('\n')
    const isAllowed = (connection: Connection) => textsOf(connection).replace(skill(), '').includes('reserve')
    expect(isAllowed(first)).toBe(false)

    const second = connectFiles(client, { allowedTools }, first)
    expect(isAllowed(second)).toBe(true)
    expect(textsOf(second)).toMatch(/list_reservations/)
    expect(disconnectFiles(second)).toEqual([])
    expect(home.tree()).toEqual(before)
  },
)

test('an answer about new tools leaves the answer about earlier tools unchanged, but an option applies to all tools', () => {
  const previous = connectFiles('claude', { askedTools: allowedTools.slice(0, 8), allowedTools: ['read_messages'] })
  const answer = (isAllowed: boolean | undefined, isForAllTools = false) =>
    answersOf({ client: 'claude', isAllowed, isForAllTools, editWarnings: undefined }, previous).allowedTools

  expect(answer(undefined)).toEqual(['read_messages'])
  expect(answer(true)).toEqual(['read_messages', 'reserve', 'list_reservations'])
  expect(answer(false)).toEqual(['read_messages'])
  expect([answer(true, true), answer(false, true)]).toEqual([allowedTools, []])
})

test('the difference shown for a single-line file contains only the change, so that other secrets stay hidden', () => {
  home.write('.claude.json', `{"oauth":{"token":"${'s'.repeat(200)}"},"mcpServers":{"o":{"command":"x"}}}`)
  home.write('.claude/settings.json', '{\n  "a": "\u009b2J"\n}')
  const { plan } = planFor('claude')
  const shown = differenceOf(plan.changes, [key])

  expect(shown).not.toContain('\u009b')
  expect(shown).toContain('"agent-grid":{"type":"http"')
  expect(shown).not.toContain('sss')
})

const twice: [string, (string | undefined)[], string | undefined][] = [
  ['for the user and for a project, in a new file', [undefined, 'one'], undefined],
  ['for two projects, in a file of the user', ['one', 'two'], '{\n  "a": 1\n}\n'],
]

test.each(twice)(
  'two connections %s can be removed in either order, and leave nothing behind',
  async (_, folders, text) => {
    if (text) home.write('.claude.json', text)
    for (const folder of folders) if (folder) mkdirSync(join(home.folder, folder))
    const before = home.tree()
    for (const order of [folders, folders.toReversed()]) {
      const connections = []
      for (const folder of folders) {
        const at = folder === undefined ? {} : { folder: join(home.folder, folder), scope: 'project' as const }
        connections.push(connectFiles('claude', at))
        await saveConnection(connections.at(-1)!)
      }
      for (const folder of order) {
        const connection = connections[folders.indexOf(folder)]
        disconnectFiles(connection)
        await removeConnection(connection)
      }
      expect(home.tree()).toEqual(before)
    }
  },
)

test('connect adds no permissions to a client whose permission setting is a single word', () => {
  home.write('.config/opencode/opencode.json', '{"permission": "ask"}')
  const { plan } = planFor('opencode', { allowedTools })

  expect(plan.left).toContain(
    `${join(home.folder, '.config/opencode/opencode.json')}: permission.agent-grid_read_messages`,
  )
  expect(plan.changes.find(({ path }) => path.endsWith('.json'))!.next).toMatch(/^\{"permission": "ask", "mcp": /)
})

test('editing a file keeps its line ends, hard links and owner', () => {
  const isRoot = process.getuid?.() === 0
  for (const path of ['.claude/settings.json', '.codex/config.toml']) {
    home.write(path, path.endsWith('toml') ? 'a = 1\r\n' : '{\r\n  "a": 1\r\n}\r\n')
    if (isRoot) chownSync(join(home.folder, path), 1234, 1234)
  }
  linkSync(join(home.folder, '.codex/config.toml'), join(home.folder, 'backup.toml'))
  for (const client of ['claude', 'codex'] as const) connectFiles(client, { allowedTools })

  for (const path of ['.claude/settings.json', '.codex/config.toml']) {
    expect(home.read(path), path).not.toMatch(/[^\r]\n/)
    if (isRoot) expect(statSync(join(home.folder, path)).uid, path).toBe(1234)
  }
  expect(home.read('backup.toml')).toContain('agent-grid')
})

test('an edit keeps a comment next to its value, and keeps a trailing comma', () => {
  home.write('.claude/settings.json', '{\n  "model": "opus" // big\n}\n')
  home.write('.gemini/settings.json', '{\n  "a": 1,\n}\n')
  const [claude, gemini] = [connectFiles('claude'), connectFiles('gemini')]
  expect(home.read('.claude/settings.json')).toContain('  "model": "opus", // big\n')

  for (const path of ['.claude/settings.json', '.gemini/settings.json']) home.write(path, `// mine\n${home.read(path)}`)
  disconnectFiles(claude)
  disconnectFiles(gemini)
  expect(home.read('.claude/settings.json')).toBe('// mine\n{\n  "model": "opus" // big\n}\n')
  expect(home.read('.gemini/settings.json')).toBe('// mine\n{\n  "a": 1,\n}\n')
})

test('Codex gets a higher output limit for long results, unless its user has set one', () => {
  home.write('.codex/config.toml', '')
  const first = connectFiles('codex', { allowedTools })
  const lines = home.read('.codex/config.toml').split('\n').filter((line) => !line.startsWith('tools.read_messages'))
  const text = lines.join('\n').replace(/(read_part\.output_token_limit = )10000/, '$1500')
  const own = '\n[mcp_servers.agent-grid.tools.read_messages]\napproval_mode = "prompt"\n'
  home.write('.codex/config.toml', { text: text + own, mode: 0o600 })

  const second = connectFiles('codex', { allowedTools }, first)

  // deno-lint-ignore no-explicit-any -- the test checks it
  const { mcp_servers: servers } = parseToml(home.read('.codex/config.toml')) as any
  const { read_messages, search_messages, read_part } = servers['agent-grid'].tools
  expect([read_messages, search_messages, read_part]).toEqual([
    { approval_mode: 'prompt', output_token_limit: 10_000 },
    { output_token_limit: 10_000 },
    { approval_mode: 'approve', output_token_limit: 500 },
  ])
  expect(second.files.map(stateOfFile)).toEqual(['there', 'there', 'there'])
})
