/** Listing and disconnecting authorized OAuth clients. See docs/protocol/oauth.md, "Grants". */
import { beforeEach, expect, test } from 'vitest'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { membership, type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let owner: Person
let olga: Browser
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  owner = await person(grid, { role: 'owner', email: 'olga@acme.example', name: 'Olga' })
  olga = await signedIn(grid, owner)
})

const settings = (tab: string) => `/accounts/${grid.acme.id}/settings/${tab}`
const statusOf = async (token: string) => (await mcp(grid, token, 'tools/list')).status

test('a user sees authorized programs of all accounts, and can disconnect one', async () => {
  await grid.store.write([membership(grid.store, grid.evil.id, owner.id, 'admin', grid.clock.now)])
  const here = await accessTokenFor(grid, owner.id, grid.acme.id, grid.alice.id)
  const there = await accessTokenFor(grid, owner.id, grid.evil.id)

  const { text } = await olga.open(settings('sessions'))
  expect(text).toContain('Client unverified @alice Acme just now')
  expect(text).toContain('Client unverified @admin Admin Evil just now')
  const end = `${settings('sessions')}/programs/${there.grantId}/end`
  const after = await olga.submit(settings('sessions'), {}, end)

  expect(after.text).toContain('The program no longer has access')
  expect(after.text).not.toContain('@admin')
  expect([await statusOf(here.token), await statusOf(there.token)]).toEqual([200, 401])
})

test("a user can neither see nor disconnect another user's programs", async () => {
  const other = await person(grid, { role: 'owner' })
  const { token, grantId } = await accessTokenFor(grid, other.id, grid.acme.id)

  const page = await olga.open(settings('sessions'))
  expect(page.text).toContain('No programs')
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]

  expect((await olga.post(`${settings('sessions')}/programs/${grantId}/end`, { csrf })).status).toBe(404)
  expect(await statusOf(token)).toBe(200)
})

test('owners see and disconnect all programs of the account, and this is logged', async () => {
  const other = await person(grid, { role: 'admin', email: 'adam@acme.example' })
  const { token, grantId } = await accessTokenFor(grid, other.id, grid.acme.id)
  await accessTokenFor(grid, (await person(grid, { role: 'owner', account: grid.evil })).id, grid.evil.id)

  const { text, html } = await olga.open(settings('account/programs'))
  expect(text).toContain('Client unverified @admin Admin adam@acme.example just now')
  expect(html.match(/programs\/[^/]+\/end/g)).toHaveLength(1)
  const after = await olga.submit(settings('account/programs'), {}, `${settings('account')}/programs/${grantId}/end`)

  expect(after.text).toContain('The program no longer has access')
  expect(await statusOf(token)).toBe(401)
  const [row] = await grid.acme.store.read.activity.list()
  expect(row).toMatchObject({ tool: 'revoke_grant', outcome: 'ok', userId: owner.id, credentialKind: 'session' })
  expect(JSON.parse(row.arguments)).toEqual({ id: grantId })
})
