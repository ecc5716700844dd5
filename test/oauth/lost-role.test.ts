/** What a person granted ends with the role that allowed it, for ever (P5, T3, S-O20). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Role } from '../../src/auth/actor.ts'
import { listOwnGrants } from '../../src/grid/oauth/grants.ts'
import { leaveAccount, removeMember, setMemberRole } from '../../src/grid/people/team.ts'
import {
  apiKey,
  codeFor,
  exchange,
  type OAuthGrid,
  oauthGrid,
  opens,
  person,
  refresh,
  setRole,
  signIn,
} from '../support/oauth.ts'

let grid: OAuthGrid
beforeEach(async () => {
  grid = await oauthGrid()
})
afterEach(() => grid.close())

const as = (userId: string, role: Role) =>
  grid.store.account(grid.acme.id, { type: 'user', userId, role, sessionId: 'test' })

const ends: [how: Role | 'removal' | 'leaving', admin: string, agent: string][] = [
  ['owner', 'admin tools', 'agent tools'],
  ['member', '401', 'agent tools'],
  ['viewer', '401', '401'],
  ['removal', '401', '401'],
  ['leaving', '401', '401'],
]
test.each(ends)('after %s and the old role again: admin %s, agent %s', async (how, admin, agent) => {
  const bea = await person(grid, 'admin')
  const { id } = bea.visitor.user
  const asAdmin = await signIn(grid, `admin:${grid.acme.id}`, { browser: bea })
  const asAgent = await signIn(grid, `agent:${grid.alice.id}`, { browser: bea })
  const key = (await apiKey(grid, asAgent.access_token)).body.apiKey
  const code = await codeFor(grid, `admin:${grid.acme.id}`, { browser: bea })
  const owner = as(grid.ann.visitor.user.id, 'owner')

  if (how === 'removal') await removeMember(owner, id)
  else if (how === 'leaving') await leaveAccount(as(id, 'admin'))
  else await setMemberRole(owner, { userId: id, role: how })
  await grid.store.write([grid.acme.store.change.team.addMember(id, 'admin', grid.clock.now)])
  await setRole(grid, bea, 'admin')

  expect([await opens(grid, asAdmin.access_token), await opens(grid, asAgent.access_token)]).toEqual([admin, agent])
  expect(await opens(grid, key)).toBe(agent)
  const isKept = (kept: string) => kept === '401' ? 400 : 200
  expect((await refresh(grid, asAdmin.refresh_token)).status).toBe(isKept(admin))
  expect((await refresh(grid, asAgent.refresh_token)).status).toBe(isKept(agent))
  expect((await exchange(grid, code)).status).toBe(isKept(admin))
})

test('a static key that a client fetched is dead with the membership alone, whatever the log of grants says', async () => {
  const bea = await person(grid, 'member')
  const { body } = await apiKey(grid, (await signIn(grid, `agent:${grid.alice.id}`, { browser: bea })).access_token)
  expect(await opens(grid, body.apiKey)).toBe('agent tools')

  for (const [role, answer] of [['viewer', '401'], ['member', 'agent tools']]) {
    await setRole(grid, bea, role)
    expect(await opens(grid, body.apiKey)).toBe(answer)
  }
})

test('nobody else’s grants end with it, and none of the same person in another account', async () => {
  const bea = await person(grid, 'admin')
  const { id } = bea.visitor.user
  await grid.store.write([grid.evil.store.change.team.addMember(id, 'admin', grid.clock.now)])
  const elsewhere = await signIn(grid, `admin:${grid.evil.id}`, { browser: bea })
  const others = await signIn(grid)

  await removeMember(as(grid.ann.visitor.user.id, 'owner'), id)

  expect([await opens(grid, elsewhere.access_token), await opens(grid, others.access_token)])
    .toEqual(['admin tools', 'admin tools'])
  expect(await listOwnGrants(grid.store, id)).toMatchObject([{ accountName: 'Evil' }])
})
