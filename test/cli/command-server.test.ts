import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runOnServer, serveCommands } from '../../src/cli/command-server.ts'
import type { StoreCommand } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands.ts'
import { httpRequest } from '../../src/cli/http-request.ts'
import { storeCommands } from '../../src/cli/store-commands.ts'
import type { Listener } from '../../src/listen.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

const createAgent = findCommand('create-agent') as StoreCommand

let grid: TestGrid
let listener: Listener
let address: { url: string; token: string }
beforeEach(async () => {
  grid = await testGrid()
  listener = await serveCommands(grid.store, storeCommands)
  address = JSON.parse(readFileSync(ownerFile(), 'utf8')).control
})
afterEach(async () => {
  await listener.stop(1_000)
})

test('an internal error is logged and its message is not shown', async () => {
  await listener.stop(1_000)
  const broken: StoreCommand = {
    ...createAgent,
    options: {},
    run: () => Promise.reject(new Error('SQLITE_SECRET at line 1')),
  }
  listener = await serveCommands(grid.store, [broken])
  address = JSON.parse(readFileSync(ownerFile(), 'utf8')).control

  await expect(runOnServer(address, broken, {})).rejects.toMatchObject({
    code: 'internal',
    message: 'The command failed. See the log of the server.',
  })
  expect(grid.logs.join('\n')).toContain('SQLITE_SECRET')
})

test('requests without the token are refused', async () => {
  const body = { command: 'create-agent', arguments: { account: grid.acme.id, alias: 'carol' } }
  const tokens = [undefined, '', 'x', address.token.slice(1), `${address.token}x`, grid.acme.adminKey]

  for (const token of tokens) {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    expect((await httpRequest(address.url, { method: 'POST', headers, body })).status).toBe(401)
  }
  expect(await grid.acme.store.read.agents.byAlias('carol')).toBeUndefined()
})

test('requests with another host name, method or path are refused', async () => {
  const headers = { Authorization: `Bearer ${address.token}` }
  const port = new URL(address.url).port

  for (const Host of [`localhost:${port}`, `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, '[::1]']) {
    expect((await httpRequest(address.url, { method: 'POST', headers: { ...headers, Host }, body: {} })).status).toBe(
      421,
    )
  }
  expect((await httpRequest(address.url, { headers })).status).toBe(404)
  expect((await httpRequest(new URL('/other', address.url).href, { method: 'POST', headers, body: {} })).status).toBe(
    404,
  )
})

test('there is no result if no server responds, or another one does', async () => {
  expect(await runOnServer({ ...address, token: 'of an earlier server' }, createAgent, {})).toBeUndefined()
  await listener.stop(1_000)
  expect(await runOnServer(address, createAgent, {})).toBeUndefined()
})

function ownerFile(): string {
  return join(grid.folder, 'grid.db.owner')
}
