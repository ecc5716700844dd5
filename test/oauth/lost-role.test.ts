/** Losing the role that allowed a grant revokes it permanently. See docs/security.md, "Grants". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Role } from '../../src/auth/actor.ts'
import { listOwnGrants } from '../../src/grid/oauth/grants.ts'
import { leaveAccount, removeMember, setMemberRole } from '../../src/grid/people/team.ts'
import {
  codeFor,
  exchange,
  fetchApiKey,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  refresh,
  setRole,
  signedInPerson,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})
afterEach(() => grid.close())

const as = (userId: string, role: Role) =>
  grid.store.account(grid.acme.id, { type: 'user', userId, role, sessionId: 'test', confirmedAt: grid.clock.now })

const ends: [how: Role | 'removal' | 'leaving', admin: string, agent: string][] = [
  ['owner', 'admin tools', 'agent tools'],
  ['member', '401', 'agent tools'],
  ['viewer', '401', '401'],
  ['removal', '401', '401'],
  ['leaving', '401', '401'],
]
test.each(ends)('after %s and the old role again: admin %s, agent %s', async (how, admin, agent) => {
  const bea = await signedInPerson(grid, 'admin')
  const { id } = bea.visitor.user
  const asAdmin = await obtainTokens(grid, `admin:${grid.acme.id}`, { browser: bea })
  const asAgent = await obtainTokens(grid, `agent:${grid.alice.id}`, { browser: bea })
  const key = (await fetchApiKey(grid, asAgent.access_token)).body.apiKey
  const code = await codeFor(grid, `admin:${grid.acme.id}`, { browser: bea })
  const owner = as(grid.ann.visitor.user.id, 'owner')

  if (how === 'removal') await removeMember(owner, id)
  else if (how === 'leaving') await leaveAccount(as(id, 'admin'))
  else await setMemberRole(owner, { userId: id, role: how })
  await grid.store.write([grid.acme.store.change.team.addMember(id, 'admin', grid.clock.now)])
  await setRole(grid, bea, 'admin')

  expect([await mcpAccess(grid, asAdmin.access_token), await mcpAccess(grid, asAgent.access_token)]).toEqual([
    admin,
    agent,
  ])
  expect(await mcpAccess(grid, key)).toBe(agent)
  const statusFor = (access: string) => access === '401' ? 400 : 200
  expect((await refresh(grid, asAdmin.refresh_token)).status).toBe(statusFor(admin))
  expect((await refresh(grid, asAgent.refresh_token)).status).toBe(statusFor(agent))
  expect((await exchange(grid, code)).status).toBe(statusFor(admin))
})

test('the grants of other users, and of the same user in other accounts, are kept', async () => {
  const bea = await signedInPerson(grid, 'admin')
  const { id } = bea.visitor.user
  await grid.store.write([grid.evil.store.change.team.addMember(id, 'admin', grid.clock.now)])
  const elsewhere = await obtainTokens(grid, `admin:${grid.evil.id}`, { browser: bea })
  const others = await obtainTokens(grid)

  await removeMember(as(grid.ann.visitor.user.id, 'owner'), id)

  expect([await mcpAccess(grid, elsewhere.access_token), await mcpAccess(grid, others.access_token)])
    .toEqual(['admin tools', 'admin tools'])
  expect(await listOwnGrants(grid.store, id)).toMatchObject([{ accountName: 'Evil' }])
})
