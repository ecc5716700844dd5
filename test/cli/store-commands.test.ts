/** Commands for accounts, agents, keys and links, which run in the process that uses the database. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runOnServer, serveCommands } from '../../src/cli/command-server.ts'
import type { StoreCommand } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands.ts'
import { storeCommands } from '../../src/cli/store-commands.ts'
import { ssoTables } from '../../src/features/single-sign-on/store.ts'
import { day } from '../../src/lib/time.ts'
import type { Listener } from '../../src/listen.ts'
import { browser } from '../support/browse.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { arrivalOf, person } from '../support/people.ts'
import { activityOf } from '../support/roles.ts'
import { addPasskey } from '../support/second-factor.ts'
import { signUp } from '../support/signup.ts'

let grid: TestGrid
let listener: Listener
beforeEach(async () => {
  grid = await testGrid()
  listener = await serveCommands(grid.store, storeCommands)
})
afterEach(async () => {
  await listener.stop(1_000)
})

test('create-agent and new-key print the configuration to paste into each client', async () => {
  const created = await run('create-agent', { account: grid.acme.id, alias: 'carol' })
  const renewed = await run('new-key', { account: grid.acme.id, agent: '@carol' })

  for (const { alias, api_key: key, mcp_config } of [created, renewed] as Record<string, string>[]) {
    expect(alias).toBe('@carol')
    expect(mcp_config).toEqual({
      mcpServers: {
        'agent-grid': {
          type: 'http',
          url: `${grid.deps.config.appUrl}/mcp/v1/grid`,
          headers: { Authorization: `Bearer ${key}` },
        },
      },
    })
  }
  const text = command('create-agent').print(created)
  for (
    const client of [
      'Claude Code',
      'Codex',
      'Gemini CLI',
      'Cursor',
      'VS Code',
      'opencode',
      'Any other MCP client',
      'A2A',
    ]
  ) {
    expect(text).toContain(`\n${client} (`)
  }
  expect(text.split(`Bearer ${created.api_key}`)).toHaveLength(9)
  expect((await mcp(grid, created.api_key as string, 'tools/list')).status).toBe(401)
  expect((await mcp(grid, renewed.api_key as string, 'tools/list')).status).toBe(200)
})

test('create-agent can set how calls over A2A are answered', async () => {
  await run('create-agent', { account: grid.acme.id, alias: 'carol', 'message-replies': 'true', 'callers-wait': 'yes' })
  await run('create-agent', { account: grid.acme.id, alias: 'dan' })

  const { agents, agentSettings } = grid.acme.store.read
  const settingsOf = async (alias: string) => await agentSettings.byId((await agents.byAlias(alias))!.id)
  expect([await settingsOf('carol'), await settingsOf('dan')]).toMatchObject([
    { messageReplies: true, callersWait: 'yes' },
    { messageReplies: false, callersWait: 'auto' },
  ])
})

test('list-accounts shows every account with its state, owners and number of agents', async () => {
  await signUp(grid, { alias: 'guest', owner_email: 'guest@guest.example' })

  const { accounts } = await run('list-accounts', {}) as { accounts: Record<string, unknown>[] }

  const acme = accounts.find(({ account_id }) => account_id === grid.acme.id)
  expect(acme).toEqual({
    account_id: grid.acme.id,
    name: 'Acme',
    state: 'claimed',
    owners: ['ann@acme.example'],
    agents: await grid.acme.store.read.agents.total(),
    created_at: expect.stringMatching(/Z$/),
  })
  expect(accounts.find(({ state }) => state === 'provisional')).toMatchObject({ owners: [], agents: 1 })
  expect(command('list-accounts').print({ accounts })).toMatch(/^Account +State +Agents +Name +Owners\n[0-9a-f-]{36} /)
})

test('list-accounts with the cursor of the first page lists the remaining accounts', async () => {
  await grid.store.write([{
    sql: `INSERT INTO accounts (id, name, state, created_at) WITH RECURSIVE n(i) AS
      (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT 'account ' || i, 'x', 'claimed', 1 FROM n`,
    args: [],
  }])
  const first = await run('list-accounts', {}) as { accounts: unknown[]; next_cursor: string }
  const rest = await run('list-accounts', { cursor: first.next_cursor }) as typeof first

  expect([first.accounts.length, rest.accounts.length]).toEqual([1_000, 2])
  expect(command('list-accounts').print(first)).toContain(`There are more: --cursor ${first.next_cursor}`)
  expect(rest).not.toHaveProperty('next_cursor')
})

test("agent commands refuse unknown accounts and other accounts' agents, and log the refusal of such an agent", async () => {
  await expect(run('new-key', { account: 'Acme', agent: 'alice' })).rejects.toThrow(
    'No account has the id Acme. list-accounts lists them.',
  )
  await expect(run('new-key', { account: grid.acme.id, agent: 'eve' })).rejects.toMatchObject({
    code: 'agent_not_found',
  })
  expect(await rows(grid, 'SELECT tool, outcome FROM activity WHERE account_id = ?', [grid.acme.id])).toEqual([
    { tool: 'new-key', outcome: 'agent_not_found' },
  ])
})

test('the sign-in link of create-account signs the owner in once, within a day', async () => {
  const owner = { name: 'New', 'owner-email': 'new@new.example' }
  const { sign_in_url: url, works_once } = await run('create-account', owner)
  const path = new URL(url as string).pathname
  const one = browser(grid)

  expect(works_once).toBe(true)
  grid.clock.now += day - 1
  expect((await one.submit(path, {})).at).toMatch(/^\/accounts\//)
  expect((await browser(grid).open(path)).status).toBe(400)
})

test("create-link lets a user sign in, and is logged in each of the user's accounts", async () => {
  const { email, id: userId } = await person(grid, { role: 'owner' })
  const link = await run('create-link', { email })
  const forPassword = await run('create-link', { email, kind: 'password' })

  const page = await browser(grid).submit(new URL(link.url as string).pathname, {})
  const password = 'another horse battery'
  const reset = await browser(grid).submit(new URL(forPassword.url as string).pathname, { password })

  expect(page.at).toBe(arrivalOf(grid.acme))
  expect(reset.at).toContain(`/accounts/${grid.acme.id}`)
  expect((await browser(grid).signIn(email, password)).at).toBe(arrivalOf(grid.acme))
  const logged = "SELECT arguments FROM activity WHERE account_id = ? AND tool = 'create-link'"
  expect((await rows(grid, logged, [grid.acme.id])).map((row) => JSON.parse(String(row.arguments)))).toEqual([
    { userId, email },
    { userId, email },
  ])
  expect(grid.logs.join('\n')).not.toContain(new URL(link.url as string).pathname)
  await expect(run('create-link', { email: 'nobody@acme.example' })).rejects.toMatchObject({ code: 'not_found' })
})

test("create-account is logged as the new account's first activity, without the password", async () => {
  const args = { name: 'New', 'owner-email': 'new@new.example', password: 'correct horse battery' }
  const created = await run('create-account', args)

  const account = grid.store.account(created.account_id as string, { type: 'system', job: 'test' })
  const rows = await account.read.activity.list()
  expect(rows).toMatchObject([{ n: 1, tool: 'create-account', actorType: 'system', outcome: 'ok' }])
  expect(JSON.parse(rows[0].arguments)).toEqual({ name: 'New', owner_email: 'new@new.example' })
})

test('admin keys are listed without their secrets, and a deleted key is immediately refused', async () => {
  const created = await inAcme('create-admin-key', { name: 'CI' })
  expect((await mcp(grid, created.admin_key as string, 'tools/list')).status).toBe(200)
  await grid.store.drained()

  const { keys } = await inAcme('list-admin-keys', {}) as { keys: Record<string, unknown>[] }
  const deleted = await inAcme('delete-admin-key', { key: created.key_id as string })

  expect(keys.map(({ name }) => name).sort()).toEqual(['CI', 'first key'])
  expect(keys.find(({ name }) => name === 'CI')).toEqual({
    key_id: created.key_id,
    name: 'CI',
    last4: (created.admin_key as string).slice(-4),
    user_id: null,
    created_at: '2026-11-21T09:00:00.000Z',
    last_used_at: '2026-11-21T09:00:00.000Z',
  })
  expect(deleted).toEqual({ deleted: true, key_id: created.key_id })
  expect((await mcp(grid, created.admin_key as string, 'tools/list')).status).toBe(401)
  expect((await mcp(grid, grid.acme.adminKey, 'tools/list')).status).toBe(200)
  expect(await inAcme('list-admin-keys', {})).toMatchObject({ keys: [{ name: 'first key' }] })
})

test('set-limits changes the given limits, and `default` resets a limit', async () => {
  const set = (limits: Record<string, string>) => run('set-limits', { account: grid.acme.id, ...limits })
  await set({ 'messages-per-day': '0', agents: '5', 'retention-days': '3' })
  const limits = await set({ 'megabytes-per-day': '7', agents: 'default' })

  const given = { messages_per_day: 0, megabytes_per_day: 7, retention_days: 3 }
  expect(limits).toEqual({ ...given, agents: grid.deps.config.agentsPerAccount })
  expect(await run('usage', { account: grid.acme.id })).toMatchObject({ ...given, agents: 2, members: 1, days: [] })
  await expect(set({ 'retention-days': '0' })).rejects.toThrow('a number from 1 to 36500, or default')
  await expect(set({ agents: '-1' })).rejects.toThrow('a number from 0 to 1000000, or default')
  expect((await activityOf(grid)).at(-1)).toMatchObject({
    tool: 'set-limits',
    input: { megabytesPerDay: 7, agents: null },
  })
})

test("delete-account requires the account's name, and restore-account restores the account", async () => {
  const account = grid.acme.id
  const status = async () => (await mcp(grid, grid.alice.key, 'tools/list')).status
  await expect(run('delete-account', { account, name: 'Evil' })).rejects.toThrow('not the name of the account')
  const { removed_at } = await run('delete-account', { account, name: 'Acme' })

  expect([removed_at, await status()]).toEqual([new Date(grid.clock.now + 7 * day).toISOString(), 401])
  await run('restore-account', { account })
  expect(await status()).toBe(200)
})

test('erase-words reports what was removed and who still has a copy', async () => {
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'a word' })
  const erased = await run('erase-words', { account: grid.acme.id, alias: '@alice' })

  expect(erased).toMatchObject({ alias: 'alice', rows: { messages: 1, deliveries: 1 } })
  expect(command('erase-words').print(erased)).toMatch(/^What @alice had written is erased\.\n.*exports.*still/s)
})

test('delete-admin-key refuses agent keys, keys of other accounts and deleted keys', async () => {
  const [agentKey] = await grid.store.write([
    { sql: "SELECT id FROM credentials WHERE account_id = ? AND kind = 'agent_key'", args: [grid.acme.id], rows: 0 },
  ])
  const [foreign] = await grid.evil.store.read.keys.adminKeys()
  const [own] = await grid.acme.store.read.keys.adminKeys()
  await inAcme('delete-admin-key', { key: own.id })

  for (const key of [String(agentKey[0].id), foreign.id, own.id, 'nonsense']) {
    await expect(inAcme('delete-admin-key', { key })).rejects.toMatchObject({ code: 'credential_not_found' })
  }
  expect((await mcp(grid, grid.alice.key, 'tools/list')).status).toBe(200)
  expect((await mcp(grid, grid.evil.adminKey, 'tools/list')).status).toBe(200)
})

test("reset-second-factor removes a user's second factor, and reports the result", async () => {
  const { id, email } = await person(grid, { role: 'owner' })
  await addPasskey(grid, { id }, 'Laptop')

  const reset = () => run('reset-second-factor', { email })

  expect(await reset()).toEqual({ reset: true, user_id: id })
  expect((await grid.acme.store.read.team.member(id))?.hasSecondFactor).toBe(false)
  await expect(reset()).rejects.toMatchObject({ code: 'invalid_input' })
})

test('stop-requiring-sso lets members into an account whose provider is down', async () => {
  const { read, change } = grid.acme.store.feature(ssoTables)
  const provider = {
    id: 'p',
    name: 'Corp',
    issuer: 'https://login.corp.example',
    clientId: 'c',
    domain: 'corp.example',
  }
  await grid.acme.store.write([
    change.save(
      { ...provider, proof: 'x', roleClaim: '', roles: {} },
      await grid.acme.store.seal('sso_providers', 'p', 's'),
    ),
    change.require(),
  ])

  expect(await inAcme('stop-requiring-sso', {})).toEqual({ required: false })
  expect(await read.get()).toMatchObject({ isRequired: false })
})

test('a command that changes an account is logged as an activity of the system, even if it fails', async () => {
  await inAcme('create-agent', { alias: 'carol' })
  const key = await inAcme('create-admin-key', { name: 'CI' })
  await inAcme('delete-admin-key', { key: key.key_id as string })
  await inAcme('create-agent', { alias: 'carol' }).catch(() => {})
  await inAcme('list-admin-keys', {})

  const rows = (await grid.acme.store.read.activity.list()).reverse()
  expect(rows.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
    'create-agent ok',
    'create-admin-key ok',
    'delete-admin-key ok',
    'create-agent alias_taken',
  ])
  for (const row of rows) {
    expect(row).toMatchObject({ actorType: 'system', credentialId: null, credentialKind: null, requestId: null })
  }
  expect(await grid.evil.store.read.activity.list()).toEqual([])
})

function command(name: string): StoreCommand {
  return findCommand(name) as StoreCommand
}

/** Runs a command in the server, as another process does. */
async function run(name: string, args: Record<string, string>): Promise<Record<string, unknown>> {
  const { control } = JSON.parse(readFileSync(join(grid.folder, 'grid.db.owner'), 'utf8'))
  return (await runOnServer(control, command(name), args))!
}

async function inAcme(name: string, args: Record<string, string>): Promise<Record<string, unknown>> {
  return await run(name, { account: grid.acme.id, ...args })
}
