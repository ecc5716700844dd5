import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ask } from '../../src/cli/ask.ts'
import type { StoreCommand } from '../../src/cli/command.ts'
import { runThere, takeCommands } from '../../src/cli/control.ts'
import { findCommand } from '../../src/cli/help.ts'
import { storeCommands } from '../../src/cli/store-commands.ts'
import type { Listener } from '../../src/listen.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

const createAgent = findCommand('create-agent') as StoreCommand

let grid: TestGrid
let control: Listener
let access: { url: string; token: string }
beforeEach(async () => {
  grid = await testGrid()
  control = await takeCommands(grid.store, storeCommands)
  access = JSON.parse(readFileSync(ownerFile(), 'utf8')).control
})
afterEach(async () => {
  await control.stop(1_000)
  await grid.close()
})

test('the token is written where only the owner of the database reads it', () => {
  expect(statSync(ownerFile()).mode & 0o777).toBe(0o600)
  expect(access.token).toMatch(/^[0-9A-Za-z]{43}$/)
  expect(access.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/commands$/)
  expect(grid.logs.join('\n')).not.toContain(access.token)
})

test('a command runs in the process that holds the database', async () => {
  const agent = await runThere(access, createAgent, { account: grid.acme.id, alias: 'carol' })

  expect(agent).toMatchObject({ alias: '@carol', api_key: expect.stringMatching(/^grid_agt_/) })
  expect(await grid.acme.store.read.agents.byAlias('carol')).toMatchObject({ id: agent!.agent_id })
})

test('a command fails there as it does here', async () => {
  await expect(runThere(access, createAgent, { account: grid.acme.id, alias: 'alice' }))
    .rejects.toMatchObject({ code: 'alias_taken', message: 'The alias @alice is taken. Choose another.' })
  await expect(runThere(access, createAgent, { account: 'nobody', alias: 'carol' }))
    .rejects.toMatchObject({ code: 'account_not_found' })
  await expect(runThere(access, createAgent, { account: grid.acme.id, alias: 'carol', nope: 'x' }))
    .rejects.toMatchObject({ code: 'usage' })
  await expect(runThere(access, { ...createAgent, name: 'serve' }, {})).rejects.toMatchObject({ code: 'usage' })
})

test('a fault of ours says nothing about itself and goes to the log', async () => {
  await control.stop(1_000)
  const broken: StoreCommand = {
    ...createAgent,
    options: {},
    run: () => Promise.reject(new Error('SQLITE_SECRET at line 1')),
  }
  control = await takeCommands(grid.store, [broken])
  access = JSON.parse(readFileSync(ownerFile(), 'utf8')).control

  await expect(runThere(access, broken, {})).rejects.toMatchObject({
    code: 'internal',
    message: 'The command failed; the log of the server says why.',
  })
  expect(grid.logs.join('\n')).toContain('SQLITE_SECRET')
})

test('nobody gets in without the token', async () => {
  const body = { command: 'create-agent', arguments: { account: grid.acme.id, alias: 'carol' } }
  const tokens = [undefined, '', 'x', access.token.slice(1), `${access.token}x`, grid.acme.adminKey]

  for (const token of tokens) {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    expect((await ask(access.url, { method: 'POST', headers, body })).status).toBe(401)
  }
  expect(await grid.acme.store.read.agents.byAlias('carol')).toBeUndefined()
})

test('a page of a browser gets in under no other name, method or path', async () => {
  const headers = { Authorization: `Bearer ${access.token}` }
  const port = new URL(access.url).port

  for (const Host of [`localhost:${port}`, `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, '[::1]']) {
    expect((await ask(access.url, { method: 'POST', headers: { ...headers, Host }, body: {} })).status).toBe(421)
  }
  expect((await ask(access.url, { headers })).status).toBe(404)
  expect((await ask(new URL('/other', access.url).href, { method: 'POST', headers, body: {} })).status).toBe(404)
})

test('when nobody answers, or somebody else does, there is no result', async () => {
  expect(await runThere({ ...access, token: 'of an earlier server' }, createAgent, {})).toBeUndefined()
  await control.stop(1_000)
  expect(await runThere(access, createAgent, {})).toBeUndefined()
})

function ownerFile(): string {
  return join(grid.folder, 'grid.db.owner')
}
