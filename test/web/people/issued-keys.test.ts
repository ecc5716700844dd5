/** When a person leaves, the grid offers to replace the agent keys that the person issued. See docs/security.md. */
import { beforeEach, expect, test } from 'vitest'
import { type Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let ada: Person
let adas: Browser
let olga: Browser
let account: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  ada = await person(grid, { role: 'admin', email: 'ada@acme.example', name: 'Ada' })
  adas = await signedIn(grid, ada)
  olga = await signedIn(grid, await person(grid, { role: 'owner', email: 'olga@acme.example', name: 'Olga' }))
  account = `/accounts/${grid.acme.id}`
})

const statusOf = async (key: string) => (await mcp(grid, key, 'tools/list')).status
const replaceKey = async (browser: Browser, alias: string, from = `${account}/agents/${alias}/connect`) =>
  (await browser.submit(from, {}, `${account}/agents/${alias}/key`)).html.match(/grid_agt_[0-9A-Za-z]{49}/)![0]
const team = async (browser = olga) => (await browser.open(`${account}/settings/team`)).text

test('removing a person who issued agent keys offers to replace the keys', async () => {
  const key = await replaceKey(adas, 'alice')
  expect((await olga.open(`${account}/agents/alice/connect`)).text).toContain('Issued by Ada')
  expect(await team()).toContain('They know 1 agent key.')
  expect(await team()).not.toContain('Keys to replace')

  const removed = await olga.submit(`${account}/settings/team`, {}, `${account}/settings/team/members/${ada.id}/remove`)

  expect(removed.text).toContain('Keys to replace')
  expect(removed.text).toContain(`@alice grid_agt_…${key.slice(-4)} Ada`)
  expect(await statusOf(key)).toBe(200)
  const next = await replaceKey(olga, 'alice', `${account}/settings/team`)
  expect([await statusOf(key), await statusOf(next)]).toEqual([401, 200])
  expect(await team()).not.toContain('Keys to replace')
  expect((await olga.open(`${account}/agents/alice/connect`)).text).toContain('Issued by Olga')
})

test('only owners and admins see keys to replace after their issuer leaves or becomes a viewer', async () => {
  await replaceKey(adas, 'alice')
  await olga.submit(`${account}/settings/team`, { role: 'viewer' }, `${account}/settings/team/members/${ada.id}/role`)

  expect(await team()).toContain('Keys to replace')
  expect(await team(adas)).not.toContain('Keys to replace')

  await adas.submit(`${account}/settings/team`, {}, `${account}/settings/team/leave`)
  expect(await team()).toContain('Keys to replace')
})
