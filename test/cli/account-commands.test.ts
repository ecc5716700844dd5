/** Commands on one account, run in the process that holds the database. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runOnServer, serveCommands } from '../../src/cli/command-server.ts'
import type { StoreCommand } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands.ts'
import { storeCommands } from '../../src/cli/store-commands.ts'
import type { Listener } from '../../src/listen.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { mcp } from '../support/mcp.ts'
import { person } from '../support/people.ts'
import { addPasskey } from '../support/second-factor.ts'

let grid: TestGrid
let listener: Listener
beforeEach(async () => {
  grid = await testGrid()
  listener = await serveCommands(grid.store, storeCommands)
})
afterEach(async () => {
  await listener.stop(1_000)
  await grid.close()
})

test('create-account records the first activity of the new account, without the password', async () => {
  const args = { name: 'New', 'owner-email': 'new@new.example', password: 'correct horse battery' }
  const created = await runOnServer(address(), findCommand('create-account') as StoreCommand, args)

  const account = grid.store.account(created!.account_id as string, { type: 'system', job: 'test' })
  const rows = await account.read.activity.list()
  expect(rows).toMatchObject([{ n: 1, tool: 'create-account', actorType: 'system', outcome: 'ok' }])
  expect(JSON.parse(rows[0].arguments)).toEqual({ name: 'New', owner_email: 'new@new.example' })
})

test('admin keys are listed without their secrets, and the next request with a deleted key is refused', async () => {
  const created = await run('create-admin-key', { name: 'CI' })
  expect((await mcp(grid, created.admin_key as string, 'tools/list')).status).toBe(200)

  const { keys } = await run('list-admin-keys', {}) as { keys: Record<string, unknown>[] }
  const deleted = await run('delete-admin-key', { key: created.key_id as string })

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
  expect(await run('list-admin-keys', {})).toMatchObject({ keys: [{ name: 'first key' }] })
})

test('delete-admin-key refuses agent keys, keys of other accounts and deleted keys', async () => {
  const [agentKey] = await grid.store.write([
    { sql: "SELECT id FROM credentials WHERE account_id = ? AND kind = 'agent_key'", args: [grid.acme.id], rows: 0 },
  ])
  const [foreign] = await grid.evil.store.read.keys.adminKeys()
  const [own] = await grid.acme.store.read.keys.adminKeys()
  await run('delete-admin-key', { key: own.id })

  for (const key of [String(agentKey[0].id), foreign.id, own.id, 'nonsense']) {
    await expect(run('delete-admin-key', { key })).rejects.toMatchObject({ code: 'credential_not_found' })
  }
  expect((await mcp(grid, grid.alice.key, 'tools/list')).status).toBe(200)
  expect((await mcp(grid, grid.evil.adminKey, 'tools/list')).status).toBe(200)
})

test('reset-second-factor lets a user sign in again, and says what it did', async () => {
  const { id, email } = await person(grid, { role: 'owner' })
  await addPasskey(grid, { id }, 'Laptop')

  const reset = () => runOnServer(address(), findCommand('reset-second-factor') as StoreCommand, { email })

  expect(await reset()).toEqual({ reset: true, user_id: id })
  expect((await grid.acme.store.read.team.member(id))?.hasSecondFactor).toBe(false)
  await expect(reset()).rejects.toMatchObject({ code: 'invalid_input' })
})

test('create-agent takes an alias with @ and spaces around it', async () => {
  expect(await run('create-agent', { alias: ' @carol ' })).toMatchObject({ alias: '@carol' })
  await expect(run('create-agent', { alias: '@Carol' })).rejects.toMatchObject({ code: 'invalid_alias' })
})

test('a command that changes an account is recorded as an activity of the system, also if it fails', async () => {
  await run('create-agent', { alias: 'carol' })
  const key = await run('create-admin-key', { name: 'CI' })
  await run('delete-admin-key', { key: key.key_id as string })
  await run('create-agent', { alias: 'carol' }).catch(() => {})
  await run('list-admin-keys', {})

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

/** Run a command on Acme as another process does. */
async function run(name: string, args: Record<string, string>): Promise<Record<string, unknown>> {
  const result = await runOnServer(address(), findCommand(name) as StoreCommand, { account: grid.acme.id, ...args })
  return result!
}

/** Where the process that holds the database accepts commands. */
function address() {
  return JSON.parse(readFileSync(join(grid.folder, 'grid.db.owner'), 'utf8')).control
}
