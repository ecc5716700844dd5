/** Files that `connect` refuses to edit and leaves unchanged. */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyChanges } from '../../src/clients/files/change.ts'
import { removeConnection, saveConnection } from '../../src/clients/connections.ts'
import { type ClientName, clientNames } from '../../src/clients/programs.ts'
import { connectFiles, disconnectFiles, planFor } from '../support/connected.ts'
import { type Home, type HomeFile, testHome } from '../support/home.ts'

let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

const table = '[mcp_servers.agent-grid]\nurl = "x"\n'
const refused: [string, ClientName, string, HomeFile, RegExp][] = [
  ['not JSON', 'claude', '.claude.json', '{"a": 1,,}', /\.claude\.json is not valid JSON at line 1, column 9/],
  ['two values', 'cursor', '.cursor/mcp.json', '{} {}', /is not valid JSON/],
  ['not TOML', 'codex', '.codex/config.toml', 'a = 1\nb = = 2\n', /config\.toml is not valid TOML at line 2/],
  ['a TOML value in the way', 'codex', '.codex/config.toml', 'mcp_servers = {}\n', /laid out in a way/],
  ['not text', 'claude', '.claude.json', new Uint8Array([123, 255, 125]), /is not UTF-8 text/],
  ['an array in the way', 'claude', '.claude/settings.json', '{"hooks": []}', /has no object in hooks/],
  ['an object in the way', 'claude', '.claude/settings.json', '{"hooks": {"Stop": {}}}', /has no array in hooks\.Stop/],
  ['a name that stands twice', 'claude', '.claude.json', '{"mcpServers": {}, "mcpServers": {}}', /"mcpServers" twice/],
  [
    'a foreign entry',
    'vscode',
    '.config/Code/User/mcp.json',
    '{"servers": {"agent-grid": {}}}',
    /already has servers\.a/,
  ],
  ['a foreign table', 'codex', '.codex/config.toml', table, /already has mcp_servers\.agent-grid,/],
  ['a foreign skill', 'claude', '.claude/skills/agent-grid/SKILL.md', '# mine', /was not written by "agent-grid con/],
  ['a read-only file', 'claude', '.claude/settings.json', { text: '{}', mode: 0o444 }, /is read-only/],
  ['a link to nothing', 'claude', '.claude/settings.json', { link: 'nowhere' }, /is a link to a file that does not e/],
]

test.each(refused)('connect refuses %s with a reason, and writes nothing', (_, client, path, file, words) => {
  home.write(path, file)
  const before = home.tree()

  expect(() => planFor(client)).toThrow(words)
  expect(home.tree()).toEqual(before)
})

test('connect refuses a folder that is not writable, before it writes anything', () => {
  home.write('.claude/settings.json', '{}')
  chmodSync(join(home.folder, '.claude'), 0o500)
  const before = home.tree()

  expect(() => planFor('claude')).toThrow(/the folder .*\.claude is read-only/)
  expect(home.tree()).toEqual(before)
  chmodSync(join(home.folder, '.claude'), 0o700)
})

test.each(clientNames)('a link in a project may not lead to another file of the user: %s', (client) => {
  const folder = join(home.folder, 'project')
  mkdirSync(folder)
  const [own] = planFor(client, { folder }).plan.changes.map(({ path }) => path).filter((path) =>
    path.startsWith(folder)
  )
  home.write('elsewhere/file', '{}')

  const [top, ...rest] = own.slice(folder.length + 1).split(/[/\\]/)
  home.write(`project/${top}`, { link: join(home.folder, 'elsewhere', rest.length > 0 ? '' : 'file') })
  const before = home.tree()
  expect(() => planFor(client, { folder })).toThrow('is a link that leads out of the project')
  expect(home.tree()).toEqual(before)
})

test("a folder whose name begins with the project's name is not part of the project", () => {
  const folder = join(home.folder, 'p')
  mkdirSync(folder)
  home.write('p-evil/settings.json', '{}')
  home.write('p/.gemini', { link: '../p-evil' })

  expect(() => planFor('gemini', { folder })).toThrow('is a link that leads out of the project')
})

test('if a file changes after it was read, the files already written are restored', () => {
  home.write('.claude.json', '{}')
  home.write('.claude/settings.json', '{}')
  const { plan } = planFor('claude')
  home.write('.claude/settings.json', '{"model": "opus"}')
  const before = home.tree()

  expect(() => applyChanges(plan.changes)).toThrow(/was just changed/)
  expect(home.tree()).toEqual(before)
})

test('disconnect keeps and names entries that another program has changed, and removes the others', () => {
  const claude = connectFiles('claude')
  const codex = connectFiles('codex')
  for (const path of ['.claude.json', '.codex/config.toml']) {
    home.write(path, home.read(path).replace('https://grid.example', 'https://other.example'))
  }
  home.write('.claude/skills/agent-grid/SKILL.md', 'mine')

  expect(disconnectFiles(claude)).toEqual([
    `${join(home.folder, '.claude/skills/agent-grid/SKILL.md')}: its text`,
    `${join(home.folder, '.claude.json')}: mcpServers.agent-grid`,
  ])
  expect(disconnectFiles(codex)).toEqual([`${join(home.folder, '.codex/config.toml')}: mcp_servers.agent-grid`])
  const files = Object.entries(home.tree()).filter(([, text]) => !text.startsWith('folder'))
  expect(files.map(([path]) => path).toSorted()).toEqual(
    ['.claude.json', '.claude/skills/agent-grid/SKILL.md', '.codex/config.toml'].toSorted(),
  )
})

test('a file stays private to the user if disconnect leaves a changed table with the key in it', () => {
  const path = '.codex/config.toml'
  home.write(path, { text: 'model = "x"\n', mode: 0o644 })
  const codex = connectFiles('codex')
  const changed = home.read(path).replace('https://grid.example', 'https://other.example')
  home.write(path, { text: changed, mode: 0o600 })

  disconnectFiles(codex)
  expect(home.tree()[path]).toMatch(/^600 /)
  expect(home.read(path)).toContain('grid_agt_')
})

test('disconnect does not remove text in a TOML string that looks like our table', () => {
  const text = 't = """\n[mcp_servers.agent-grid]\nurl = 1\n"""\n'
  home.write('.codex/config.toml', text)
  const codex = connectFiles('codex')
  home.write('.codex/config.toml', `a = 1\n${home.read('.codex/config.toml')}`)

  expect(disconnectFiles(codex)).toEqual([])
  expect(home.read('.codex/config.toml')).toBe(`a = 1\n${text}`)
})

test('disconnect removes a skill and its folders only with the last of two clients that share it', async () => {
  const before = home.tree()
  const copilot = connectFiles('copilot')
  await saveConnection(copilot)
  const vscode = connectFiles('vscode')
  await saveConnection(vscode)

  disconnectFiles(copilot)
  expect(home.read('.copilot/skills/agent-grid/SKILL.md')).toContain('agent-grid')
  await removeConnection(copilot)
  disconnectFiles(vscode)

  expect(home.tree()).toEqual(before)
})

test('connect does not duplicate an existing hook if the list of connections was lost', () => {
  connectFiles('cursor')
  const hooks = home.read('.cursor/hooks.json')
  home.write('.cursor/mcp.json', '{}')
  const connection = connectFiles('cursor')

  expect(home.read('.cursor/hooks.json')).toBe(hooks)
  disconnectFiles(connection)
  expect(home.tree()['.cursor/hooks.json']).not.toContain('hook cursor')
})

test.each(clientNames)(
  '%s can be connected or disconnected after a kill between the writes of any two files',
  (client) => {
    home.write('.claude.json', '{"a": 1}')
    home.write('.codex/config.toml', 'a = 1')
    home.write('.gemini/settings.json', '{\n  // mine\n}\n')
    const before = home.tree()
    const whole = connectFiles(client)
    const connected = home.tree()
    disconnectFiles(whole)
    const { plan: { changes }, connection } = planFor(client)
    for (let done = 0; done <= changes.length; done++) {
      // The connection is recorded before any file is written.
      applyChanges(changes.slice(0, done))
      disconnectFiles(connection)
      expect(home.tree(), `after ${done}`).toEqual(before)

      applyChanges(changes.slice(0, done))
      disconnectFiles(connectFiles(client, {}, connection))
      expect(home.tree(), `after ${done}`).toEqual(before)

      applyChanges(changes.slice(0, done))
      connectFiles(client, {}, connection)
      expect(home.tree(), `after ${done}`).toEqual(connected)
      disconnectFiles(connection)
    }
    disconnectFiles(connection)
    expect(home.tree()).toEqual(before)
  },
)
