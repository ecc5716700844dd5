/** Files that are not edited, and that stay as they are. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyChanges } from '../../src/clients/files/change.ts'
import { placeOf, planConnect, planDisconnect, setupOf } from '../../src/clients/connect.ts'
import { readConnections, saveConnection } from '../../src/clients/connections.ts'
import { type ClientName, clientNames } from '../../src/clients/programs.ts'
import { type Home, type HomeFile, testHome } from '../support/home.ts'

const key = `grid_agt_${'k'.repeat(49)}`
let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

function connectionOf(client: ClientName) {
  return { ...placeOf(client, undefined), url: 'https://grid.example', alias: '@ann', key, wake: 'auto' as const }
}

const plan = (client: ClientName) => planConnect(client, setupOf(connectionOf(client)), undefined)

function connect(client: ClientName) {
  const planned = plan(client)
  applyChanges(planned.changes)
  return { ...connectionOf(client), keyName: 'x', isOwnKey: true, at: '', files: planned.files }
}

const refused: [string, ClientName, string, HomeFile, RegExp][] = [
  ['no JSON', 'claude', '.claude.json', '{"a": 1,,}', /\.claude\.json is no valid JSON at line 1, column 9/],
  ['half a file', 'gemini', '.gemini/settings.json', '{\n  "a": {', /is no valid JSON at line 2/],
  ['two values', 'cursor', '.cursor/mcp.json', '{} {}', /is no valid JSON/],
  ['no TOML', 'codex', '.codex/config.toml', 'a = 1\nb = = 2\n', /config\.toml is no valid TOML at line 2/],
  ['a TOML value in the way', 'codex', '.codex/config.toml', 'mcp_servers = {}\n', /mcp_servers is one value/],
  ['bytes that are no text', 'claude', '.claude.json', new Uint8Array([123, 255, 125]), /is no UTF-8 text/],
  ['an array in the way', 'claude', '.claude/settings.json', '{"hooks": []}', /has no object in hooks/],
  ['an object in the way', 'claude', '.claude/settings.json', '{"hooks": {"Stop": {}}}', /has no array in hooks\.Stop/],
  ['a list as the whole file', 'vscode', '.config/Code/User/mcp.json', '[]', /has no object in its whole text/],
  ['a name that stands twice', 'claude', '.claude.json', '{"mcpServers": {}, "mcpServers": {}}', /"mcpServers" twice/],
  [
    'an entry of somebody else',
    'claude',
    '.claude.json',
    '{"mcpServers": {"agent-grid": {}}}',
    /already has mcpServers\.agent-grid/,
  ],
  [
    'a table of somebody else',
    'codex',
    '.codex/config.toml',
    '[mcp_servers.agent-grid]\nurl = "x"\n',
    /already has \[mcp_servers\.agent-grid\]/,
  ],
  [
    'a skill of somebody else',
    'claude',
    '.claude/skills/agent-grid/SKILL.md',
    '# mine',
    /was not written by "agent-grid connect"/,
  ],
  ['a read-only file', 'claude', '.claude/settings.json', { text: '{}', mode: 0o444 }, /is read-only/],
  [
    'a link to nothing',
    'claude',
    '.claude/settings.json',
    { link: 'nowhere' },
    /is a link to a file that does not exist/,
  ],
]

test.each(refused)('%s is refused with words, and nothing is written', (_, client, path, file, words) => {
  home.write(path, file)
  const before = home.tree()

  expect(() => plan(client)).toThrow(words)
  expect(home.tree()).toEqual(before)
})

test('a folder that may not be written is refused before anything is written', () => {
  home.write('.claude/settings.json', '{}')
  chmodSync(join(home.folder, '.claude'), 0o500)
  const before = home.tree()

  expect(() => plan('claude')).toThrow(/the folder .*\.claude is read-only/)
  expect(home.tree()).toEqual(before)
  chmodSync(join(home.folder, '.claude'), 0o700)
})

test('if a file changes after it was looked at, the files before it are restored', () => {
  home.write('.claude.json', '{}')
  home.write('.claude/settings.json', '{}')
  const planned = plan('claude')
  home.write('.claude/settings.json', '{"model": "opus"}')
  const before = home.tree()

  expect(() => applyChanges(planned.changes)).toThrow(/was changed meanwhile/)
  expect(home.tree()).toEqual(before)
})

test('what somebody changed in our values stays and is named; the rest is taken out', () => {
  const connection = connect('claude')
  home.write('.claude.json', home.read('.claude.json').replace('https://grid.example', 'https://other.example'))
  home.write('.claude/skills/agent-grid/SKILL.md', 'mine')

  const planned = planDisconnect(connection)
  applyChanges(planned.changes)

  expect(planned.left).toEqual([
    `${join(home.folder, '.claude/skills/agent-grid/SKILL.md')}: its text`,
    `${join(home.folder, '.claude.json')}: mcpServers.agent-grid`,
  ])
  expect(Object.keys(home.tree()).toSorted()).toEqual([
    '.claude',
    '.claude/skills',
    '.claude/skills/agent-grid',
    '.claude/skills/agent-grid/SKILL.md',
    '.claude.json',
  ].toSorted())
})

test('disconnecting twice, and after the files are gone, does nothing', () => {
  const connection = connect('codex')
  applyChanges(planDisconnect(connection).changes)
  const before = home.tree()
  applyChanges(planDisconnect(connection).changes)

  expect(home.tree()).toEqual(before)
})

test('a skill that two clients read goes with the last of them, and the folders too', async () => {
  const before = home.tree()
  const copilot = connect('copilot')
  await saveConnection(copilot)
  const vscode = connect('vscode')
  await saveConnection(vscode)
  expect(readConnections().map(({ client }) => client)).toEqual(['copilot', 'vscode'])

  applyChanges(planDisconnect(copilot).changes)
  expect(home.read('.copilot/skills/agent-grid/SKILL.md')).toContain('agent-grid')
  const { removeConnection } = await import('../../src/clients/connections.ts')
  await removeConnection(copilot)
  applyChanges(planDisconnect(vscode).changes)

  expect(home.tree()).toEqual(before)
})

test('a hook that is there already, because the list of connections was lost, is not written twice', () => {
  connect('cursor')
  const hooks = home.read('.cursor/hooks.json')
  home.write('.cursor/mcp.json', '{}')
  const before = home.read('.cursor/hooks.json')
  const connection = connect('cursor')

  expect(home.read('.cursor/hooks.json')).toBe(before)
  expect(hooks).toBe(before)
  applyChanges(planDisconnect(connection).changes)
  expect(home.tree()['.cursor/hooks.json']).not.toContain('hook cursor')
})

test.each(clientNames)(
  '%s: killed between any two files, it is connected or disconnected as if nothing had been',
  (client) => {
    home.write('.claude.json', '{"a": 1}')
    home.write('.codex/config.toml', 'a = 1')
    home.write('.gemini/settings.json', '{\n  // mine\n}\n')
    const before = home.tree()
    const whole = connect(client)
    const connected = home.tree()
    applyChanges(planDisconnect(whole).changes)
    for (let done = 0; done <= plan(client).changes.length; done++) {
      // It is recorded before anything is written.
      const planned = plan(client)
      const recorded = { ...whole, files: planned.files }
      applyChanges(planned.changes.slice(0, done))
      applyChanges(planDisconnect(recorded).changes)
      expect(home.tree(), `after ${done}`).toEqual(before)

      applyChanges(planned.changes.slice(0, done))
      applyChanges(planConnect(client, setupOf(connectionOf(client)), recorded).changes)
      expect(home.tree(), `after ${done}`).toEqual(connected)
      applyChanges(planDisconnect(recorded).changes)
    }
  },
)
