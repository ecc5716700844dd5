import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Role } from '../../../src/auth/actor.ts'
import { createAdminKey } from '../../../src/grid/accounts/accounts.ts'
import {
  acceptInvitation,
  invitationLifetimeMs,
  inviteMember,
  openInvitation,
  registerInvited,
  sendInvitationAgain,
  withdrawInvitation,
} from '../../../src/grid/people/invitations.ts'
import { handOverAccount, leaveAccount, removeMember, setMemberRole } from '../../../src/grid/people/team.ts'
import { newId } from '../../../src/lib/id.ts'
import { dump, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { password, type Person, person } from '../../support/people.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
})
afterEach(() => grid.close())

/** Acme, as somebody in a role; the role of the request, which may be old. */
const as = (who: Person, role: Role, account = grid.acme) => grid.store.account(account.id, who.actor(role))
const tokenOf = ({ url }: { url: string }) => url.split('/').at(-1)!
const rolesNow = async () =>
  Object.fromEntries((await grid.acme.store.read.team.members()).map(({ userId, role }) => [userId, role]))

async function owners() {
  return Object.values(await rolesNow()).filter((role) => role === 'owner').length
}

/** Only these people are in Acme: the owner of the command line goes. */
async function only(...given: Role[]): Promise<Person[]> {
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

test('two owners who demote each other at once leave one owner', async () => {
  const [ann, bea] = await only('owner', 'owner')

  const results = await Promise.allSettled([
    setMemberRole(as(ann, 'owner'), { userId: bea.id, role: 'member' }),
    setMemberRole(as(bea, 'owner'), { userId: ann.id, role: 'member' }),
  ])

  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await owners()).toBe(1)
})

test('of two admins who demote each other at once, one stays admin', async () => {
  const [, ann, bea] = await only('owner', 'admin', 'admin')

  const results = await Promise.allSettled([
    setMemberRole(as(ann, 'admin'), { userId: bea.id, role: 'viewer' }),
    setMemberRole(as(bea, 'admin'), { userId: ann.id, role: 'viewer' }),
  ])

  expect(results.filter(({ status }) => status === 'rejected')).toMatchObject([{ reason: { code: 'not_allowed' } }])
  expect(Object.values(await rolesNow()).sort()).toEqual(['admin', 'owner', 'viewer'])
})

test.each<[string, (who: Person) => Promise<unknown>]>([
  ['leave', (who: Person) => leaveAccount(as(who, 'owner'))],
  ['step down', (who: Person) => setMemberRole(as(who, 'owner'), { userId: who.id, role: 'admin' })],
  ['remove themselves', (who: Person) => removeMember(as(who, 'owner'), who.id)],
])('owners who all %s at once leave one owner', async (_, go) => {
  const people = await only('owner', 'owner', 'owner', 'owner')

  const results = await Promise.allSettled(people.map(go))

  const refused = results.filter((result) => result.status === 'rejected')
  expect(refused.map(({ reason }) => reason.code)).toEqual(['last_owner'])
  expect(await owners()).toBe(1)
})

test('the statement alone keeps the last owner, whoever forgot to look', async () => {
  const [ann] = await only('owner')
  const { team } = grid.acme.store.change

  const write = grid.acme.store.write([team.requireOtherOwner(ann.id), team.remove(ann.id)])

  await expect(write).rejects.toMatchObject({ code: 'write_conflict' })
  expect(await owners()).toBe(1)
})

const grants: [by: Role, from: Role, to: Role, code: string | undefined][] = [
  ['owner', 'member', 'owner', undefined],
  ['owner', 'owner', 'viewer', undefined],
  ['admin', 'viewer', 'admin', undefined],
  ['admin', 'admin', 'member', undefined],
  ['admin', 'member', 'owner', 'not_allowed'],
  ['admin', 'owner', 'member', 'not_allowed'],
  ['member', 'viewer', 'member', 'not_allowed'],
  ['viewer', 'viewer', 'owner', 'not_allowed'],
]
test.each(grants)('%s makes %s to %s: %s', async (by, from, to, code) => {
  const [, caller, target] = await only('owner', by, from)

  const call = setMemberRole(as(caller, by), { userId: target.id, role: to })

  if (code) await expect(call).rejects.toMatchObject({ code })
  else await call
  expect((await rolesNow())[target.id]).toBe(code ? from : to)
})

test('an admin removes members, and no owner', async () => {
  const [owner, admin, member] = await only('owner', 'admin', 'member')

  await removeMember(as(admin, 'admin'), member.id)

  await expect(removeMember(as(admin, 'admin'), owner.id)).rejects.toMatchObject({ code: 'not_allowed' })
  expect(Object.keys(await rolesNow()).sort()).toEqual([owner.id, admin.id].sort())
})

test('a role that was lost while the request was under way does not count any more', async () => {
  const [, former, target] = await only('owner', 'member', 'viewer')
  const stale = as(former, 'admin')

  const calls = [
    setMemberRole(stale, { userId: target.id, role: 'admin' }),
    removeMember(stale, target.id),
    inviteMember(stale, { email: 'x@people.example', role: 'viewer' }),
    createAdminKey(stale, 'late'),
  ]

  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'not_allowed' })
})

test('handing over makes the other one owner, and oneself an admin', async () => {
  const [ann, bea] = await only('owner', 'viewer')

  await handOverAccount(as(ann, 'owner'), bea.id)

  expect(await rolesNow()).toEqual({ [ann.id]: 'admin', [bea.id]: 'owner' })
  await expect(handOverAccount(as(ann, 'admin'), ann.id)).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(handOverAccount(as(bea, 'owner'), newId())).rejects.toMatchObject({ code: 'member_not_found' })
})

test.each(['demotion', 'removal', 'leaving'])('with the role, admin keys and invitations end: %s', async (how) => {
  const [owner, admin] = await only('owner', 'admin')
  const { adminKey } = await createAdminKey(as(admin, 'admin'), 'of the admin')
  const kept = await createAdminKey(as(owner, 'owner'), 'of the owner')
  const invitation = await inviteMember(as(admin, 'admin'), { email: 'x@people.example', role: 'admin' })
  const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status
  expect([await status(adminKey), await status(kept.adminKey)]).toEqual([200, 200])

  if (how === 'demotion') await setMemberRole(as(owner, 'owner'), { userId: admin.id, role: 'member' })
  else if (how === 'removal') await removeMember(as(owner, 'owner'), admin.id)
  else await leaveAccount(as(admin, 'admin'))

  expect([await status(adminKey), await status(kept.adminKey)]).toEqual([401, 200])
  await expect(openInvitation(grid.store, tokenOf(invitation))).rejects.toMatchObject({ code: 'link_expired' })

  // For ever: whoever gets the role back makes a new key.
  await rows(
    grid,
    "INSERT INTO memberships (account_id, user_id, role, created_at) VALUES (?, ?, 'admin', 0) ON CONFLICT DO UPDATE SET role = 'admin'",
    [grid.acme.id, admin.id],
  )
  expect(await status(adminKey)).toBe(401)
})

test('an invitation works once, for one day, and for the invited address alone', async () => {
  const [owner] = await only('owner')
  const [bob, eve] = [await person(grid, { email: 'bob@people.example' }), await person(grid)]
  const invite = () => inviteMember(as(owner, 'owner'), { email: ' Bob@People.example ', role: 'member' })
  const invitee = (who: Person) => ({ user: who, sessionId: 'test' })

  const first = tokenOf(await invite())
  await expect(acceptInvitation(grid.store, first, invitee(eve), null)).rejects.toMatchObject({ code: 'not_allowed' })
  grid.clock.now += invitationLifetimeMs
  await expect(acceptInvitation(grid.store, first, invitee(bob), null)).rejects.toMatchObject({ code: 'link_expired' })

  const second = tokenOf(await invite())
  expect(await acceptInvitation(grid.store, second, invitee(bob), null)).toBe(grid.acme.id)
  expect((await rolesNow())[bob.id]).toBe('member')
  await expect(acceptInvitation(grid.store, second, invitee(bob), null)).rejects.toMatchObject({ code: 'link_expired' })
  await expect(invite()).rejects.toMatchObject({ code: 'member_exists', details: { field: 'email' } })
})

test('sending again, inviting again and withdrawing end the link before', async () => {
  const [owner] = await only('owner')
  const account = as(owner, 'owner')
  const isOpen = (sent: { url: string }) => openInvitation(grid.store, tokenOf(sent)).then(() => true, () => false)

  const first = await inviteMember(account, { email: 'bob@people.example', role: 'member' })
  const again = await sendInvitationAgain(account, first.id)
  const other = await inviteMember(account, { email: 'bob@people.example', role: 'viewer' })

  expect(await Promise.all([first, again, other].map(isOpen))).toEqual([false, false, true])
  expect(await account.read.team.invitations()).toMatchObject([{ id: other.id, role: 'viewer' }])
  await withdrawInvitation(account, other.id)
  expect(await isOpen(other)).toBe(false)
  await expect(withdrawInvitation(account, other.id)).rejects.toMatchObject({ code: 'invitation_not_found' })
})

test('an admin neither makes nor changes an invitation to be owner', async () => {
  const [owner, admin] = await only('owner', 'admin')
  const { id } = await inviteMember(as(owner, 'owner'), { email: 'bob@people.example', role: 'owner' })
  const account = as(admin, 'admin')

  for (
    const call of [
      inviteMember(account, { email: 'x@people.example', role: 'owner' }),
      inviteMember(account, { email: 'bob@people.example', role: 'viewer' }),
      withdrawInvitation(account, id),
      sendInvitationAgain(account, id),
    ]
  ) await expect(call).rejects.toMatchObject({ code: 'not_allowed' })
})

test('of many who use one invitation at once, one comes in', async () => {
  const [owner] = await only('owner')
  const sent = await inviteMember(as(owner, 'owner'), { email: 'bob@people.example', role: 'member' })
  const names = ['Bob', 'Rob', 'Bobby']

  const results = await Promise.allSettled(
    names.map((name) => registerInvited(grid.store, tokenOf(sent), { name, password }, null)),
  )

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await rows(grid, "SELECT count(*) AS n FROM users WHERE email = 'bob@people.example'")).toMatchObject([{
    n: 1,
  }])
  expect(Object.values(await rolesNow()).sort()).toEqual(['member', 'owner'])
})

test('what belongs to the team of another account is answered like what never was', async () => {
  const [, member] = await only('owner', 'member')
  const owner = await person(grid, { role: 'owner' })
  const { id } = await inviteMember(as(owner, 'owner'), { email: 'bob@people.example', role: 'member' })
  const ed = as(await person(grid, { role: 'owner', account: grid.evil }), 'owner', grid.evil)
  const before = await dump(grid, grid.acme)
  const calls: [string, (id: string) => Promise<unknown>][] = [
    [member.id, (userId) => setMemberRole(ed, { userId, role: 'owner' })],
    [member.id, (userId) => removeMember(ed, userId)],
    [member.id, (userId) => handOverAccount(ed, userId)],
    [id, (invitation) => sendInvitationAgain(ed, invitation)],
    [id, (invitation) => withdrawInvitation(ed, invitation)],
  ]

  for (const [foreign, call] of calls) {
    const answers = await Promise.all(
      [foreign, newId()].map((id) => call(id).catch(({ code, message }) => `${code} ${message}`)),
    )
    expect(answers[0]).toMatch(/_not_found /)
    expect(answers[0]).toBe(answers[1])
  }
  expect(await dump(grid, grid.acme)).toBe(before)
})
