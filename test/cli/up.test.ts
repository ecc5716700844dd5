/** `agent-grid up`, `down` and `as`, as a person runs them in an untouched home. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { build } from '../../scripts/build.js'
import { GridClient } from '../../src/clients/grid-client.ts'
import { writeJson } from '../../src/clients/state/sessions.ts'
import { type Home, testHome } from '../support/home.ts'
import { runCommand } from '../support/process.ts'

let home: Home
let env: Record<string, string>
beforeAll(async () => {
  await build('src/main.ts')
  home = testHome()
  for (const client of ['claude', 'codex', 'opencode']) {
    home.write(`bin/${client}`, { text: '#!/bin/sh\n', mode: 0o755 })
  }
  const elsewhere = { client: 'opencode', scope: 'user', url: 'https://grid.example.com', alias: '@ann', files: [] }
  writeJson(join(home.env.AGENT_GRID_HOME, 'config/connections.json'), { connections: [{ ...elsewhere, key: 'k' }] })
  // Settings of another grid, which the shell happens to have.
  env = { ...home.env, PATH: `${home.folder}/bin:${home.env.PATH}`, PORT: '1', DATABASE_URL: 'file:/none/grid.db' }
})
afterAll(async () => {
  await runCommand('bun', ['down'], env)
  home.remove()
})

const record = (path: string) => JSON.parse(readFileSync(join(home.env.AGENT_GRID_HOME, path), 'utf8'))

async function up(path: string) {
  const folder = join(home.folder, path)
  mkdirSync(folder, { recursive: true })
  const { code, stdout, stderr } = await runCommand(
    'bun',
    ['up', '--folder', folder, '--detach', '--yes', '--json'],
    env,
  )
  expect({ code, error: code === 0 ? '' : stderr }).toEqual({ code: 0, error: '' })
  return JSON.parse(stdout)
}

test('one command connects a folder, the next folder joins its grid, and a client of another grid stays there', async () => {
  const first = await up('a/My Répo')
  const second = await up('b/my-repo')

  expect(first.connections).toEqual([
    { client: 'claude', agent: '@my-repo-claude' },
    { client: 'codex', agent: '@my-repo-codex' },
  ])
  expect(second).toMatchObject({
    url: first.url,
    connections: [{ agent: '@my-repo-claude-2' }, { agent: '@my-repo-codex' }],
  })
  const [, claude, codex] = record('config/connections.json').connections
    .map(({ url, key }: { url: string; key: string }) => new GridClient({ url, key }))
  await claude.send({ to: '@my-repo-codex', message: 'Are you there?' }, crypto.randomUUID())
  expect(await codex.peek()).toMatchObject({ unread: 1, messages: [{ user: '@my-repo-claude' }] })
  expect(record('config/connections.json').connections[0]).toMatchObject({ url: 'https://grid.example.com' })
  const page = await fetch(first.sign_in_url)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Sign in')])
  expect(existsSync(join(home.folder, 'b/my-repo/.claude/settings.local.json'))).toBe(true)
})
