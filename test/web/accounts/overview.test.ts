import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { hour } from '../../../src/lib/time.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { signedInByEmail, signedInMember } from '../../support/people.ts'

let grid: TestGrid
let path: string
beforeEach(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}/overview`
})

const send = (message: string) => callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })
/** The table for screen readers that goes with the chart. */
const hours = (html: string) =>
  [...html.matchAll(/<th scope="row">(\d\d:00)<\/th><td>(\d+)<\/td>/g)].map(([, at, count]) => `${at} ${count}`)

test('messages of the last 24 hours are counted per hour, without older ones and those of other accounts', async () => {
  await grid.evil.agent('mallory')
  await callTool(grid, grid.eve.key, 'send_message', { to: '@mallory', message: 'not yours' })
  await send('before the day')
  grid.clock.now += 24 * hour
  await send('one')
  await send('two')
  grid.clock.now += hour / 2
  await send('three')
  grid.clock.now += hour
  await followLog(grid.store)

  const { html, text } = await (await signedInByEmail(grid, 'ann@acme.example')).open(path)

  expect(hours(html)).toHaveLength(24)
  expect(hours(html).at(0)).toBe('11:00 0')
  expect(hours(html).filter((bar) => !bar.endsWith(' 0'))).toEqual(['09:00 3'])
  expect(hours(html).at(-1)).toBe('10:00 0')
  expect(text).toContain('Messages 3 sent in the last 24 hours')
})

test('people with an alias are no agents', async () => {
  await personWithAlias(grid, 'mel')

  const { text } = await (await signedInByEmail(grid, 'ann@acme.example')).open(path)

  expect(text).toContain('Agents 2 ')
})

test('shows recent activity with actors and failures, without what people read', async () => {
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias: 'carol' })
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias: 'carol' })

  await send('for Bob')
  await followLog(grid.store)
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  await ann.open(path.replace('overview', 'conversations'))

  const { text } = await ann.open(path)
  expect(text).not.toContain('Read the')
  expect(text).toMatch(
    /Could not create @carol alias taken A program, admin key “first key” .* Created @carol A program/,
  )
})

test('without agents it offers to create one, or says who can', async () => {
  for (const alias of ['alice', 'bob']) await deleteAgent(grid.acme.store, alias)

  const owner = await (await signedInByEmail(grid, 'ann@acme.example')).open(path)
  const viewer = await (await signedInMember(grid, grid.acme, 'viewer')).open(path)

  expect(owner.text).toContain('Bring your first agent')
  expect(owner.html).toContain(`href="/accounts/${grid.acme.id}/new-agent"`)
  expect(viewer.text).toContain('Owners and admins of the account can create one')
  expect(viewer.html).not.toContain('/new-agent')
})

test('shows what was sent today, of what may be sent', async () => {
  await send('yesterday')
  grid.clock.now += 24 * hour
  await send('one')
  await callTool(grid, grid.eve.key, 'send_message', { to: '@alice', message: 'of another account' })

  const { text } = await (await signedInByEmail(grid, 'ann@acme.example')).open(path)

  expect(text).toMatch(/Usage today .*Messages 1 of 200,000 messages Size 1 of 1,000 MB/)
})
