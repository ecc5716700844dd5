/** Who is at an agent, as people see it. See docs/delivery.md, "Presence". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chooseAlias } from '../../../src/grid/people/seats.ts'
import { hour, minute } from '../../../src/lib/time.ts'
import { followLog } from '../../../src/worker/threads.ts'
import { rows } from '../../support/database.ts'
import { type Browser } from '../../support/browse.ts'
import { callTool } from '../../support/mcp.ts'
import { signedInByEmail } from '../../support/people.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

let grid: TestGrid
let ann: Browser
let base: string
beforeEach(async () => {
  grid = await testGrid()
  base = `/accounts/${grid.acme.id}`
  ann = await signedInByEmail(grid, 'ann@acme.example')
})
afterEach(() => grid.close())

const textOf = async (path: string) => (await ann.open(`${base}/${path}`)).text
const enter = (client: string) => grid.acme.store.waiting.presence.enter(grid.bob.id, { state: 'attended', client })

test('the list of agents and the page of one say who is there, or when it was last seen', async () => {
  await seenAt(grid.clock.now)
  grid.clock.now += 25 * minute
  expect(await textOf('agents')).toContain('25 min ago')
  const leave = enter('claude')
  expect(await textOf('agents')).toContain('attended (claude)')
  expect(await textOf('agents/bob')).toContain('0 unread, attended (claude)')
  leave()
  expect(await textOf('agents/bob')).toContain('last seen 25 min ago')
})

test('Attention says who is at an agent that does not read', async () => {
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hello?' })
  await seenAt(null)
  grid.clock.now += 2 * hour
  expect(await textOf('attention')).toMatch(/@bob has not read for 2 h.*never seen/s)
  enter('claude')
  expect(await textOf('attention')).toContain('there now: attended (claude)')
})

test('who writes to an agent sees who is there', async () => {
  const user = (await grid.store.global.users.byEmail('ann@acme.example'))!
  const actor = { type: 'user', userId: user.id, role: 'owner', sessionId: 'test' } as const
  await chooseAlias(grid.store.account(grid.acme.id, actor), { alias: 'ann-person' })
  await callTool(grid, grid.bob.key, 'send_message', { to: '@ann-person', message: 'hello' })
  await followLog(grid.store)
  await seenAt(grid.clock.now)
  const [thread] = await rows(grid, 'SELECT id FROM threads WHERE account_id = ?', [grid.acme.id])
  expect(await textOf(`conversations/${thread.id}`)).toContain('@bob: seen just now')
  enter('claude')
  expect(await textOf(`conversations/${thread.id}`)).toContain('@bob: attended (claude)')
})

function seenAt(at: number | null) {
  return rows(grid, 'UPDATE agents SET last_seen_at = ? WHERE account_id = ? AND id = ?', [
    at,
    grid.acme.id,
    grid.bob.id,
  ])
}
