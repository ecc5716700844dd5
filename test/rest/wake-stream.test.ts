import { beforeEach, expect, test } from 'vitest'
import { readEvents } from '../support/events.ts'
import { followIdle } from '../support/idle.ts'
import { callTool } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

const path = '/api/agents/wake-stream'

let grid: LiveGrid
let stop: AbortController
beforeEach(async () => {
  stop = new AbortController()
  grid = await liveGrid({ stopping: stop.signal })
})

test('an agent is woken when messages arrive, with an unnamed event', async () => {
  const response = await open(grid.bob.key)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('x-accel-buffering')).toBe('no')
  const events = readEvents(response)
  expect(await events.frame()).toBe('retry: 15000')
  expect(await events.frame()).toMatch(/^:/)
  await send()

  expect(await events.event()).toBe('data: wake')
  await events.close()
})

test('an agent with unread messages is woken immediately', async () => {
  await send()
  const events = readEvents(await open(grid.bob.key))

  expect(await events.event()).toBe('data: wake')
  await events.close()
})

test('neither the sender nor an agent of another account is woken', async () => {
  const idle = followIdle(grid.store)
  const streams = [await open(grid.alice.key), await open(grid.eve.key)].map(readEvents)
  await idle(2)
  await send()
  await idle(2)
  stop.abort()

  for (const { frame } of streams) {
    for (let said; (said = await frame()) !== undefined;) expect(said).not.toContain('data:')
  }
})

test("a key's fourth stream gets 429, and closed streams free their slots", async () => {
  const streams = []
  for (let i = 0; i < 3; i++) streams.push(readEvents(await open(grid.bob.key)))
  const fourth = await open(grid.bob.key)
  expect([fourth.status, fourth.headers.get('retry-after')]).toEqual([429, '15'])
  await fourth.body?.cancel()
  for (const { close } of streams) await close()

  await waitFor('the end of all streams', () => grid.store.waiting.streams.count === 0)
})

test('HEAD and POST requests do not open a wake stream', async () => {
  const headers = { Authorization: `Bearer ${grid.bob.key}` }
  const answers = await Promise.all(['HEAD', 'POST'].map((method) => grid.request(path, { method, headers })))

  expect(answers.map(({ status }) => status)).toEqual([405, 405])
  expect(grid.store.waiting.streams.count).toBe(0)
})

function open(key: string | undefined): Promise<Response> {
  return fetch(new URL(path, grid.url), { headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } })
}

function send() {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hello' })
}
