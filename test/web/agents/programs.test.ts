/** Connecting OAuth clients to an agent, and the clients that act as it. See docs/protocol/oauth.md. */
import { beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let alice: string
let connect: string
beforeEach(async () => {
  grid = await testGrid()
  alice = `/accounts/${grid.acme.id}/agents/alice`
  connect = `${alice}/connect`
})

const statusOf = async (token: string) => (await mcp(grid, token, 'tools/list')).status
const programsOf = (html: string) =>
  [...html.matchAll(/<tr role="row"><th scope="row"[\s\S]*?<\/tr>/g)].map(([row]) => row)

test('owners and admins see the programs that act as an agent, and can disconnect one', async () => {
  const owner = await person(grid, { role: 'owner' })
  const member = await person(grid, { role: 'member', email: 'mel@acme.example' })
  const { token, grantId } = await accessTokenFor(grid, member.id, grid.acme.id, grid.alice.id)
  const own = await accessTokenFor(grid, owner.id, grid.acme.id, grid.alice.id)
  const others = [
    await accessTokenFor(grid, owner.id, grid.acme.id, grid.bob.id),
    await accessTokenFor(grid, owner.id, grid.acme.id),
  ]
  const olga = await signedIn(grid, owner)

  const page = await olga.open(connect)
  const after = await olga.submit(connect, {}, `${alice}/programs/${grantId}/end`)

  expect(page.html.match(/programs\/[^/]+\/end/g)).toHaveLength(2)
  expect(page.text).toContain('Client unverified mel@acme.example just now')
  expect(after.at).toBe(`${connect}?done=grant-ended`)
  expect(after.text).toContain('The program no longer has access')
  expect(after.text).not.toContain('mel@acme.example')
  expect(await statusOf(token)).toBe(401)
  expect(await Promise.all([own, ...others].map(({ token }) => statusOf(token)))).toEqual([200, 200, 200])
  expect((await grid.acme.store.read.activity.list({ limit: 1 }))[0]).toMatchObject({
    tool: 'revoke_grant',
    outcome: 'ok',
    arguments: JSON.stringify({ id: grantId }),
  })
})

test('a member sees only their own programs, and a viewer none', async () => {
  const [owner, member, viewer] = [
    await person(grid, { role: 'owner', email: 'olga@acme.example' }),
    await person(grid, { role: 'member', email: 'mel@acme.example' }),
    await person(grid, { role: 'viewer', email: 'vera@acme.example' }),
  ]
  for (const { id } of [owner, member]) await accessTokenFor(grid, id, grid.acme.id, grid.alice.id)

  const seen = await (await signedIn(grid, member)).open(connect)
  const unseen = await (await signedIn(grid, viewer)).open(connect)

  expect(seen.text).toContain('Client unverified mel@acme.example')
  expect(seen.text).toContain('Disconnect them under Settings, Sessions')
  expect(seen.text).not.toContain('olga@acme.example')
  expect(programsOf(seen.html)).toHaveLength(1)
  expect(seen.html).not.toMatch(/programs\/[^/]+\/end/)
  expect(unseen.text).not.toContain('Programs')
})
