import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
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

test("a command's internal error is logged, and its message is not shown to the user", async () => {
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

test('the user of a command that takes long is informed, and waits for the result', async () => {
  await listener.stop(1_000)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const said = vi.spyOn(console, 'error').mockImplementation(() => {})
  try {
    const slow: StoreCommand = {
      ...createAgent,
      options: {},
      async run() {
        for (let ms = 0; ms < 60_000; ms += 5_000) {
          await vi.advanceTimersByTimeAsync(5_000)
          await new Promise((resolve) => setImmediate(resolve))
        }
        return { done: true }
      },
    }
    listener = await serveCommands(grid.store, [slow])
    address = JSON.parse(readFileSync(ownerFile(), 'utf8')).control

    expect(await runOnServer(address, slow, {})).toEqual({ done: true })
    expect(said.mock.calls[0]).toEqual(['The running server has worked on create-agent for 10 s.'])
  } finally {
    vi.useRealTimers()
    said.mockRestore()
  }
})

test.each(['end', 'destroy'] as const)(
  'a user is told if the server ends (%s) while it runs a command',
  async (how) => {
    const dying = createServer((_, response) => {
      response.writeHead(200).write('{}\n', () => response[how]())
    }).listen(0, '127.0.0.1')
    await once(dying, 'listening')
    const url = `http://127.0.0.1:${(dying.address() as AddressInfo).port}/commands`

    await expect(runOnServer({ url, token: 'x' }, createAgent, {})).rejects.toMatchObject({ code: 'server_ended' })
    dying.close()
  },
)

test('a user is told if the server does not respond', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/commands`

  await expect(runOnServer({ url, token: 'x' }, createAgent, {}, 50)).rejects.toMatchObject({ code: 'server_busy' })
  silent.closeAllConnections()
  silent.close()
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

test('requests with a wrong host name, method or path are refused', async () => {
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

test('a command gets no result if no server responds, or if only a later server responds', async () => {
  expect(await runOnServer({ ...address, token: 'of an earlier server' }, createAgent, {})).toBeUndefined()
  await listener.stop(1_000)
  expect(await runOnServer(address, createAgent, {})).toBeUndefined()
})

function ownerFile(): string {
  return join(grid.folder, 'grid.db.owner')
}
