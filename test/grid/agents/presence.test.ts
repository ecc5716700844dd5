/** Agents' presence, as other agents see it. See docs/conversations.md, "Presence". */
import { beforeEach, expect, test } from 'vitest'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { readEvents } from '../../support/events.ts'
import { callTool } from '../../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: LiveGrid
beforeEach(async () => {
  grid = await liveGrid()
})

test("a wake stream sets its agent's presence, and a session takes precedence over a runner", async () => {
  expect(await told()).toEqual(['nobody yet', 'nobody yet'])
  const runner = await listen('?runner=codex')
  expect(await told()).toEqual(['runner', 'runner (codex)'])
  const session = await listen('?attended=claude')
  expect(await told()).toEqual(['attended', 'attended (claude)'])
  const { text } = await callTool(grid, grid.alice.key, 'list_agents', {}) as { text: Listed[] }
  expect(text.find(({ alias }) => alias === '@bob')).toMatchObject({ presence: 'attended (claude)' })

  await session.close()
  await waitFor('the end of the session', () => at()?.state === 'runner')
  await runner.close()
  await waitFor('the end of the runner', () => at() === undefined)
  expect(await told()).toEqual(['seen just now', 'seen just now'])
})

test.each([
  ['?attended=a%20b', 'attended'],
  [`?runner=${'x'.repeat(33)}`, 'runner'],
  ['?runner=%3Cb%3E', 'runner'],
  ['?attended=claude&runner=claude', 'runner'],
])('a wake stream with %s is refused', async (query, field) => {
  const response = await open(query)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { code: 'invalid_input', message: expect.stringMatching(field) },
  })
  expect(grid.store.waiting.streams.count).toBe(0)
})

test('an agent with a lease counts as a runner until the lease ends, for at most ten minutes', async () => {
  const { presence } = grid.acme.store.waiting
  presence.leased(grid.bob.id, grid.clock.now + hour)
  expect(await told()).toEqual(['runner', 'runner'])
  grid.clock.now += 10 * minute
  expect(at()).toBeUndefined()
  presence.leased(grid.bob.id, grid.clock.now + minute)
  expect(at()).toEqual({ state: 'runner', client: '' })
  presence.leaseEnded(grid.bob.id)
  expect(at()).toBeUndefined()
})

test("agents of other accounts cannot see an agent's presence", async () => {
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  const stream = await listen('?attended=claude', desk.key)
  const listed = await callTool(grid, grid.eve.key, 'list_agents', { public: true }) as { text: Listed[] }
  const sent = await callTool(grid, grid.eve.key, 'send_message', { to: '@desk', message: 'hi' })
  const { body } = await postA2a(grid, grid.eve.key, send10({ metadata: { to: '@desk' } }))

  expect(listed.text).toMatchObject([{ alias: '@desk' }])
  expect(JSON.stringify([listed, sent, body])).not.toMatch(/presence|attended|claude/)
  // Another account cannot look up the presence by the agent's id either.
  expect(grid.evil.store.waiting.presence.at(desk.id)).toBeUndefined()
  await stream.close()
})

interface Listed {
  alias: string
  presence?: string
}

/** Returns bob's presence as reported by a receipt and by the list of agents. */
async function told(): Promise<unknown[]> {
  const sender = { agentId: grid.alice.id, alias: 'alice' }
  const { recipientPresence } = await sendMessage(grid.acme.store, sender, { to: '@bob', text: 'hi' })
  const { text } = await callTool(grid, grid.alice.key, 'list_agents', {}) as { text: Listed[] }
  return [recipientPresence, text.find(({ alias }) => alias === '@bob')?.presence]
}

function at() {
  return grid.acme.store.waiting.presence.at(grid.bob.id)
}

function open(query: string, key = grid.bob.key): Promise<Response> {
  return fetch(new URL(`/api/agents/wake-stream${query}`, grid.url), { headers: { Authorization: `Bearer ${key}` } })
}

async function listen(query: string, key?: string) {
  const events = readEvents(await open(query, key))
  await events.frame()
  return events
}
