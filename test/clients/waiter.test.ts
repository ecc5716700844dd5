/** The process that waits for messages to a Claude Code session. The tests run the real hooks as Claude Code would. */
import process from 'node:process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { reissueKey } from '../../src/grid/agents/agent-settings.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { minute } from '../../src/lib/time.ts'
import { callTool } from '../support/mcp.ts'
import { type FakeMachine, fakeMachine, isRunning } from '../support/fake-client.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

vi.setConfig({ testTimeout: 60_000 })

let grid: LiveGrid
let machine: FakeMachine
const send = (message = 'a secret plan') => callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })
const stop = { session_id: 's1', hook_event_name: 'Stop' }
const wait = ['claude', 'wait']

beforeEach(async () => {
  grid = await liveGrid()
  machine = await fakeMachine({ url: grid.url, ...grid.bob })
})
afterEach(() => machine.remove())

const isAttended = () => waitFor('the waiter', () => machine.waiter())

test('the waiter wakes the session with the number of messages and their senders, without texts', async () => {
  const client = await machine.client()
  const waiter = await client.start(wait, stop)
  await isAttended()
  await send()

  const { code, stdout, stderr } = await waiter.ended()
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^You are @bob .* 1 unread message from @alice\. Call mcp__agent-grid__read_messages once/)
  expect(stderr).not.toContain('secret')
  expect(machine.waiter()).toBe(undefined)

  // Messages that arrived before the wait are announced too, but only once.
  await send()
  const next = await client.run(wait, stop)
  expect([next.code, next.stderr.match(/\d unread/)?.[0]]).toEqual([2, '1 unread'])
})

test('a session has one waiter, however many turns it takes', async () => {
  const client = await machine.client()
  const waiter = await client.start(wait, stop)
  await isAttended()

  const others = [await client.run(wait, stop), await client.run(wait, { ...stop, session_id: 'after-clear' })]

  expect(others).toEqual(Array(2).fill({ code: 0, signal: null, stdout: '', stderr: '' }))
  expect(isRunning(waiter.pid)).toBe(true)
})

test('the waiter exits with 0 on SIGTERM, and when its client is killed', async () => {
  const client = await machine.client()
  const waiter = await client.start(wait, stop)
  await isAttended()

  process.kill(waiter.pid, 'SIGTERM')

  expect(await waiter.ended()).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
  expect(machine.waiter()).toBe(undefined)

  const { pid } = await client.start(wait, stop)
  await isAttended()
  await client.kill()
  await waitFor('the end of the waiter', () => !isRunning(pid))
  expect(machine.waiter()).toBe(undefined)
})

test.each([
  ['claude -p', { CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' }],
  ['another program that runs these hooks', { CLAUDE_CODE_ENTRYPOINT: '' }],
  ['a child of agent-grid run', { AGENT_GRID_RUN: '1' }],
])('no waiter runs in %s', async (_, env) => {
  await send()
  const client = await machine.client(env)

  expect(await client.run(wait, stop)).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
})

test('a message wakes the newest session, or the previous one after the newest has ended', async () => {
  const [older, newer] = [await machine.client(), await machine.client()]
  const listens = (pid: number) => waitFor('the waiter', () => machine.waiter()?.clientPid === pid)
  const first = await older.start(wait, stop)
  await listens(older.pid)
  const second = await newer.start(wait, { ...stop, session_id: 's2' })
  await listens(newer.pid)

  await send()
  const { code } = await second.ended()
  const isFirstAlive = isRunning(first.pid)
  await newer.kill()
  await listens(older.pid)
  await send()

  expect([code, isFirstAlive, (await first.ended()).code]).toEqual([2, true, 2])
})

test('the waiter exits when its key is revoked, and the next session start reports it', async () => {
  const client = await machine.client()
  const waiter = await client.start(wait, stop)
  await isAttended()
  await reissueKey(grid.acme.store, '@bob')
  // The stream ends because its credential was revoked.
  grid.clock.now += minute

  const { code } = await waiter.ended()
  const start = await client.run(['claude', 'start'], { session_id: 's2', hook_event_name: 'SessionStart' })

  expect(code).toBe(0)
  expect(start.stdout).toContain('does not accept the key of @bob')
})

test('the waiter retries an unreachable grid, and then announces the messages that have arrived', async () => {
  const port = await freePort()
  const away = await fakeMachine({ url: `http://127.0.0.1:${port}`, ...grid.bob })
  const client = await away.client()
  const waiter = await client.start(wait, stop)
  await waitFor('an attempt', () => away.log().includes('could not be reached'))

  // All test grids have the same agents and keys.
  const later = await liveGrid({}, port)
  await callTool(later, later.alice.key, 'send_message', { to: '@bob', message: 'hello' })

  expect((await waiter.ended()).code).toBe(2)
  await later.close()
  away.remove()
})

test('above its budget the waiter wakes no session, and the next prompt announces the messages', async () => {
  const client = await machine.client({ AGENT_GRID_WAKES_PER_MINUTE: '1' })
  const first = await client.start(wait, stop)
  await isAttended()
  await send()
  const woken = await first.ended()
  const second = await client.start(wait, stop)
  await isAttended()
  await send()

  const { stdout } = await client.run(['claude', 'prompt'], { session_id: 's1', hook_event_name: 'UserPromptSubmit' })

  expect(woken.code).toBe(2)
  expect(stdout).toContain('1 unread message from @alice')
  expect(isRunning(second.pid)).toBe(true)
})
