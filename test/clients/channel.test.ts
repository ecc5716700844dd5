import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: LiveGrid
let folder: string
let child: ChildProcess
// deno-lint-ignore no-explicit-any -- tests check them
let received: any[]

beforeEach(async () => {
  grid = await liveGrid()
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-channel-'))
})

afterEach(async () => {
  child.kill('SIGKILL')
  await grid.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts @alice's MCP server, as a client does. */
function start(words: string[] = [], env: Record<string, string> = {}): void {
  const [program, ...args] = [...runtimeCommand('node'), 'src/main.ts', 'channel', ...words]
  child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...{ PATH: process.env.PATH, AGENT_GRID_HOME: folder },
      ...{ AGENT_GRID_URL: grid.url, AGENT_GRID_KEY: grid.alice.key, AGENT_GRID_ALIAS: '@alice', ...env },
    },
  })
  received = []
  let rest = ''
  child.stdout!.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    received.push(...lines.map((line) => JSON.parse(line)))
  })
}

const write = (message: unknown) => child.stdin!.write(`${JSON.stringify(message)}\n`)

/** Sends a request. Resolves to its response. */
function ask(id: number, method: string, params: Record<string, unknown> = {}) {
  write({ jsonrpc: '2.0', id, method, params })
  return waitFor(`the answer to ${method}`, () => received.find((message) => message.id === id))
}

async function initialize() {
  const clientInfo = { name: 'test', version: '1' }
  const answer = await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  write({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return answer
}

const sendTo = (user: { key: string }, to: string, message: string) =>
  fetch(`${grid.url}/api/v1/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${user.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ to, message }),
  })

test("a client that speaks MCP over standard input and output gets the grid's tools", async () => {
  start()
  // This call precedes `initialize`. The newest MCP version has no `initialize`, and requires headers.
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  }
  const newest = await ask(9, 'tools/call', { name: 'list_agents', arguments: {}, _meta })
  expect(newest.result).toMatchObject({ resultType: 'complete' })

  expect((await initialize()).result).toMatchObject({
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'agent-grid' },
  })
  expect((await ask(2, 'tools/list')).result.tools.map(({ name }: { name: string }) => name)).toContain('send_message')

  const sent = await ask(3, 'tools/call', { name: 'send_message', arguments: { to: '@bob', message: 'Hi.\nBob' } })
  expect(JSON.parse(sent.result.content[0].text)).toMatchObject({ recipient: '@bob' })
  expect((await ask(4, 'no/such/method')).error).toMatchObject({ code: -32_601 })
})

test('a waiting read returns when a message arrives, and a cancelled read gets no response', async () => {
  start()
  await initialize()
  const wait = { name: 'read_messages', arguments: { wait_seconds: 50 } }
  write({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: wait })
  await waitFor('the wait', () => grid.store.waiting.reads.count === 1)
  write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  await waitFor('its end', () => grid.store.waiting.reads.count === 0)
  const waiting = ask(3, 'tools/call', wait)
  await sendTo(grid.bob, '@alice', 'Are you there?')

  expect((await waiting).result.content[0].text).toContain('Are you there?')
  expect(received.some(({ id }) => id === 2)).toBe(false)
})

test('the server announces new messages once and without their text, and only with --wake', async () => {
  start(['--wake'])
  expect((await initialize()).result.capabilities.experimental).toEqual({ 'claude/channel': {} })
  await sendTo(grid.bob, '@alice', 'a secret')
  const events = () => received.filter(({ method }) => method === 'notifications/claude/channel')
  await waitFor('the event', () => events().length > 0)
  expect(events()[0].params.content).toMatch(/^You are @alice on the agent-grid\. 1 unread message from @bob/)
  await sendTo(grid.bob, '@alice', 'another')
  await waitFor('the second event', () => events().length > 1)
  expect(events().map(({ params }) => params.meta)).toEqual([{ unread: '1' }, { unread: '1' }])
  expect(JSON.stringify(events())).not.toContain('a secret')
  child.kill('SIGKILL')

  start()
  expect((await initialize()).result.capabilities.experimental).toBeUndefined()
})

test('a response says that the key is refused, or that the grid cannot be reached', async () => {
  start([], { AGENT_GRID_KEY: 'ag_wrong' })
  expect((await ask(1, 'ping')).error).toMatchObject({ message: expect.stringMatching(/key|token|credential/i) })
  child.kill('SIGKILL')

  start([], { AGENT_GRID_URL: 'http://127.0.0.1:9' })
  expect((await ask(1, 'ping')).error).toMatchObject({
    code: -32_000,
    message: expect.stringContaining('The grid could not be reached'),
  })
})

test('the channel server ends with its client, and survives a line that is not JSON', async () => {
  start()
  child.stdin!.write('no JSON\n')
  await waitFor('the error', () => received.some(({ error }) => error?.code === -32_700))
  await initialize()
  child.stdin!.end()

  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
})
