/** Account members and invitations. See docs/people.md, "Roles", "Signing in". */
import { beforeEach, expect, test } from 'vitest'
import type { Role } from '../../../src/auth/actor.ts'
import { createAdminKey } from '../../../src/grid/accounts/accounts.ts'
import {
  acceptInvitation,
  inviteMember,
  openInvitation,
  registerInvitedUser,
  resendInvitation,
  withdrawInvitation,
} from '../../../src/grid/people/invitations.ts'
import { leaveAccount, removeMember, setMemberRole, transferOwnership } from '../../../src/grid/people/team.ts'
import { newId } from '../../../src/lib/id.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { password, type Person, person } from '../../support/people.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
})

/** Opens Acme as a user whose request carries `role`, which may be outdated. */
const as = (user: Person, role: Role, account = grid.acme) => grid.store.account(account.id, user.actor(role))
const tokenOf = ({ url }: { url: string }) => url.split('/').at(-1)!
const rolesNow = async () =>
  Object.fromEntries((await grid.acme.store.read.team.members()).map(({ userId, role }) => [userId, role]))

async function owners() {
  return Object.values(await rolesNow()).filter((role) => role === 'owner').length
}

/** Replaces Acme's members with new users with these roles. */
async function onlyMembers(...given: Role[]): Promise<Person[]> {
  const people = await Promise.all(given.map((role) => person(grid, { role })))
  await rows(
    grid,
    'DELETE FROM memberships WHERE account_id = ? AND user_id IN (SELECT id FROM users WHERE email = ?)',
    [
      grid.acme.id,
      'ann@acme.example',
    ],
  )
  return people
}

test.each<[string, (user: Person) => Promise<unknown>]>([
  ['leave', (user: Person) => leaveAccount(as(user, 'owner'))],
  ['step down', (user: Person) => setMemberRole(as(user, 'owner'), { userId: user.id, role: 'admin' })],
  ['remove themselves', (user: Person) => removeMember(as(user, 'owner'), user.id)],
])('when all owners %s at the same time, one owner is left', async (_, go) => {
  const people = await onlyMembers('owner', 'owner', 'owner', 'owner')

  const results = await Promise.allSettled(people.map(go))

  const refused = results.filter((result) => result.status === 'rejected')
  expect(refused.map(({ reason }) => reason.code)).toEqual(['last_owner'])
  expect(await owners()).toBe(1)
})

const roleChanges: [by: Role, from: Role, to: Role, code: string | undefined][] = [
  ['owner', 'member', 'owner', undefined],
  ['owner', 'owner', 'viewer', undefined],
  ['admin', 'viewer', 'admin', undefined],
  ['admin', 'admin', 'member', undefined],
  ['admin', 'member', 'owner', 'not_allowed'],
  ['admin', 'owner', 'member', 'not_allowed'],
  ['member', 'viewer', 'member', 'not_allowed'],
  ['viewer', 'viewer', 'owner', 'not_allowed'],
]
test.each(roleChanges)('role %s changes a member from %s to %s: %s', async (by, from, to, code) => {
  const [, caller, target] = await onlyMembers('owner', by, from)

  const call = setMemberRole(as(caller, by), { userId: target.id, role: to })

  if (code) await expect(call).rejects.toMatchObject({ code })
  else await call
  expect((await rolesNow())[target.id]).toBe(code ? from : to)
})

test('an admin can remove members but not owners', async () => {
  const [owner, admin, member] = await onlyMembers('owner', 'admin', 'member')

  await removeMember(as(admin, 'admin'), member.id)

  await expect(removeMember(as(admin, 'admin'), owner.id)).rejects.toMatchObject({ code: 'not_allowed' })
  expect(Object.keys(await rolesNow()).sort()).toEqual([owner.id, admin.id].sort())
})

test('a role that was lost during a request grants nothing', async () => {
  const [, former, target] = await onlyMembers('owner', 'member', 'viewer')
  const stale = as(former, 'admin')

  const calls = [
    setMemberRole(stale, { userId: target.id, role: 'admin' }),
    removeMember(stale, target.id),
    inviteMember(stale, { email: 'x@people.example', role: 'viewer' }),
    createAdminKey(stale, 'late'),
  ]

  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'not_allowed' })
})

test('transferring ownership makes the other member the owner and the caller an admin', async () => {
  const [ann, bea] = await onlyMembers('owner', 'viewer')

  await transferOwnership(as(ann, 'owner'), bea.id)

  expect(await rolesNow()).toEqual({ [ann.id]: 'admin', [bea.id]: 'owner' })
  await expect(transferOwnership(as(ann, 'admin'), ann.id)).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(transferOwnership(as(bea, 'owner'), newId())).rejects.toMatchObject({ code: 'member_not_found' })
})

test.each(['demotion', 'removal', 'leaving'])(
  "losing the admin role ends a member's admin keys, grants and invitations: %s",
  async (how) => {
    const [owner, admin] = await onlyMembers('owner', 'admin')
    const { adminKey } = await createAdminKey(as(admin, 'admin'), 'of the admin')
    const kept = await createAdminKey(as(owner, 'owner'), 'of the owner')
    const invitation = await inviteMember(as(admin, 'admin'), { email: 'x@people.example', role: 'admin' })
    const { token } = await accessTokenFor(grid, admin.id, grid.acme.id)
    const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status
    expect([await status(adminKey), await status(token), await status(kept.adminKey)]).toEqual([200, 200, 200])

    if (how === 'demotion') await setMemberRole(as(owner, 'owner'), { userId: admin.id, role: 'member' })
    else if (how === 'removal') await removeMember(as(owner, 'owner'), admin.id)
    else await leaveAccount(as(admin, 'admin'))

    expect([await status(adminKey), await status(token), await status(kept.adminKey)]).toEqual([401, 401, 200])
    await expect(openInvitation(grid.store, tokenOf(invitation))).rejects.toMatchObject({ code: 'link_expired' })

    // The key and the grant stay revoked when the role is restored.
    await rows(
      grid,
      "INSERT INTO memberships (account_id, user_id, role, created_at) VALUES (?, ?, 'admin', 0) ON CONFLICT DO UPDATE SET role = 'admin'",
      [grid.acme.id, admin.id],
    )
    expect([await status(adminKey), await status(token)]).toEqual([401, 401])
  },
)

test("an invitation's address is normalised, a member is not invited again, and an invitation is withdrawn once", async () => {
  const [owner] = await onlyMembers('owner')
  const bob = await person(grid, { email: 'bob@people.example' })
  const account = as(owner, 'owner')
  const invite = () => inviteMember(account, { email: ' Bob@People.example ', role: 'member' })

  const { id } = await invite()
  await withdrawInvitation(account, id)
  await expect(withdrawInvitation(account, id)).rejects.toMatchObject({ code: 'invitation_not_found' })
  const invitee = { user: bob, sessionId: 'test' }
  expect(await acceptInvitation(grid.store, tokenOf(await invite()), invitee, null)).toBe(grid.acme.id)
  await expect(invite()).rejects.toMatchObject({ code: 'member_exists', details: { field: 'email' } })
})

test('an admin can neither create nor change an invitation of an owner', async () => {
  const [owner, admin] = await onlyMembers('owner', 'admin')
  const { id } = await inviteMember(as(owner, 'owner'), { email: 'bob@people.example', role: 'owner' })
  const account = as(admin, 'admin')

  for (
    const call of [
      inviteMember(account, { email: 'x@people.example', role: 'owner' }),
      inviteMember(account, { email: 'bob@people.example', role: 'viewer' }),
      withdrawInvitation(account, id),
      resendInvitation(account, id),
    ]
  ) await expect(call).rejects.toMatchObject({ code: 'not_allowed' })
})

test('of concurrent uses of an invitation, only one succeeds', async () => {
  const [owner] = await onlyMembers('owner')
  const sent = await inviteMember(as(owner, 'owner'), { email: 'bob@people.example', role: 'member' })
  const names = ['Bob', 'Rob', 'Bobby']

  const results = await Promise.allSettled(
    names.map((name) => registerInvitedUser(grid.store, tokenOf(sent), { name, password }, null)),
  )

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await rows(grid, "SELECT count(*) AS n FROM users WHERE email = 'bob@people.example'")).toMatchObject([{
    n: 1,
  }])
  expect(Object.values(await rolesNow()).sort()).toEqual(['member', 'owner'])
})
