/** `agent-grid up`, `down` and `as`, as a person runs them with a fresh home folder. */
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
  // A setting of another grid, which happens to be set in the shell.
  env = { ...home.env, PATH: `${home.folder}/bin:${home.env.PATH}`, APP_URL: 'https://grid.example.com' }
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

test('up connects a folder, a second folder joins the same grid, and a client of another grid stays unchanged', async () => {
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

test("a session that the command as starts has its own agent, and the session's hooks act for that agent", async () => {
  const { url } = record('data/grid/up.json')
  const program = join(home.env.AGENT_GRID_HOME, 'data/program/agent-grid')
  const hook = (words: string) => `echo '{"cwd":"${home.folder}/a/My Répo"}' | "${program}" hook ${words}`
  const script = [
    'echo "$AGENT_GRID_ALIAS $AGENT_GRID_URL $AGENT_GRID_KEY"',
    `CLAUDE_CODE_ENTRYPOINT=cli; export CLAUDE_CODE_ENTRYPOINT; ${hook('claude start --project')}`,
    hook(`codex start --as @my-repo-codex --url ${url}`),
    'exit 7',
  ].join('\n')
  const { code, stdout, stderr } = await runCommand('bun', ['as', '@worker-3', '--', 'sh', '-c', script], env)

  const [given, ...told] = stdout.trim().split('\n')
  const [alias, at, key] = given.split(' ')
  expect(told.map((text) => text.match(/You are (@[\w-]+)/)?.[1])).toEqual(['@worker-3', '@worker-3'])
  expect({ code, alias, at, stderr }).toEqual({
    code: 7,
    alias: '@worker-3',
    at: url,
    stderr: `@worker-3 is new on ${url}.\n`,
  })
  await expect(new GridClient({ url, key }).me()).rejects.toMatchObject({ status: 401 })
})

test("a killed session's key is revoked when its agent's next session starts", async () => {
  const as = (script: string) => runCommand('bun', ['as', '@worker-5', '--', 'sh', '-c', script], env)
  const killed = await as('echo "$AGENT_GRID_KEY"; kill -9 $PPID')
  const [url, key] = [record('data/grid/up.json').url, killed.stdout.trim()]
  expect(await new GridClient({ url, key }).me()).toMatchObject({ agent: '@worker-5' })

  expect((await as('echo done')).stdout).toBe('done\n')
  await expect(new GridClient({ url, key }).me()).rejects.toMatchObject({ status: 401 })
})

test("a client gets its session's key from the environment, never on its command line", async () => {
  const prints = {
    claude: 'echo "$1 $2"',
    codex: 'echo "$@"',
    opencode: 'echo "$OPENCODE_CONFIG_CONTENT"',
    gemini: 'cat "$GEMINI_CLI_SYSTEM_SETTINGS_PATH"',
  }
  const outputs = await Promise.all(
    Object.entries(prints).map(async ([client, line]) => {
      home.write(`bin/${client}`, { text: `#!/bin/sh\n${line}\n`, mode: 0o755 })
      const given = { ...env, OPENCODE_CONFIG_CONTENT: '{"model":"a/b","mcp":{"other":{"type":"local"}}}' }
      return (await runCommand('bun', ['as', '@worker-4', '--', client, 'fix it'], given)).stdout
    }),
  )

  const { url } = record('data/grid/up.json')
  const [claude, codex, opencode, gemini] = outputs
  expect(claude).toMatch(/^--mcp-config=\{.*\} fix it\n$/)
  expect(JSON.parse(claude.slice('--mcp-config='.length, -' fix it\n'.length))).toEqual({
    mcpServers: {
      'agent-grid': { type: 'http', url: `${url}/mcp/v1/grid`, headers: { Authorization: 'Bearer ${AGENT_GRID_KEY}' } },
    },
  })
  expect(codex).toContain('-c mcp_servers.agent-grid.bearer_token_env_var="AGENT_GRID_KEY" fix it\n')
  expect(JSON.parse(opencode)).toMatchObject({ model: 'a/b', mcp: { other: { type: 'local' } } })
  expect(JSON.parse(opencode).mcp['agent-grid'].headers).toEqual({ Authorization: 'Bearer {env:AGENT_GRID_KEY}' })
  expect(JSON.parse(gemini).mcpServers['agent-grid'].headers).toEqual({ Authorization: 'Bearer ${AGENT_GRID_KEY}' })
  expect(outputs.join()).not.toMatch(/grid_a/)
})
