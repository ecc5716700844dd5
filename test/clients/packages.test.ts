/** The plugins and the extension in the npm package. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeClientPackages } from '../../scripts/client-packages.ts'
import { programs } from '../../src/clients/programs.ts'
import { skill } from '../../src/clients/primer.ts'

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-plugins-'))
  await writeClientPackages(folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

const json = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8'))

// A package has no hook before edits, because it cannot ask for the consent that this hook needs.
test.each(
  [
    ['claude/plugin/hooks/hooks.json', 'claude'],
    ['claude/plugin/hooks/codex.json', 'codex'],
    ['gemini/hooks/hooks.json', 'gemini'],
  ] as const,
)('%s has the hook events that connect writes', (path, client) => {
  expect(Object.keys(json(path).hooks)).toEqual(
    Object.keys(programs[client].hooks!.events).filter((event) => event !== 'PreToolUse'),
  )
})

test('every file named in a manifest or a hook exists', () => {
  const { plugins: [{ source }] } = json('claude/.claude-plugin/marketplace.json')
  const plugin = join('claude', source)
  const { mcpServers } = json(join(plugin, '.claude-plugin/plugin.json'))
  const { skills, hooks } = json(join(plugin, '.codex-plugin/plugin.json'))
  const { main } = json('opencode/package.json')
  const named = [...[mcpServers, skills, hooks, 'hook.mjs'].map((path) => join(plugin, path))]
    .concat(join('opencode', main), 'gemini/hook.mjs')

  for (const path of named) expect(existsSync(join(folder, path)), path).toBe(true)
  for (const path of [join(plugin, 'skills'), 'opencode/skills', 'gemini/skills']) {
    expect(readFileSync(join(folder, path, 'agent-grid/SKILL.md'), 'utf8')).toBe(skill())
  }
})

test('the packages contain no key, and their program runs without other files', () => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  for (const { parentPath, name } of files) {
    expect(readFileSync(join(parentPath, name), 'utf8'), name).not.toMatch(/grid_agt_\w{8}/)
  }
  const output = execFileSync(process.execPath, [join(folder, 'gemini/hook.mjs'), 'gemini', 'start'], {
    input: '{}',
    env: { PATH: process.env.PATH, AGENT_GRID_HOME: folder, HOME: folder },
  })
  expect(String(output)).toBe('')
})
