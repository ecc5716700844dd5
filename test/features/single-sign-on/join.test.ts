/** Who can join an account, and what they must prove. See docs/people.md, "Who joins an account". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ssoTables } from '../../../src/features/single-sign-on/store.ts'
import { join } from '../../../src/grid/people/join.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import type { TestGrid } from '../../support/grid.ts'
import { beginAt, linkOut, type OidcServer, signInBy } from '../../support/oidc.ts'
import { emailedPath, type Person, person, signedIn } from '../../support/people.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { settings, type SsoGrid, ssoGrid } from '../../support/sso.ts'

let world: SsoGrid
let grid: TestGrid
let server: OidcServer
let owner: Person
beforeEach(async () => {
  world = await ssoGrid()
  ;({ grid, server, owner } = world)
})
afterEach(() => world.close())

const member = async (email: string) => await grid.acme.store.read.team.memberByEmail(email)
const home = () => `/accounts/${grid.acme.id}/home`
const asOwner = () => signedIn(grid, owner)
const remove = async (userId: string) =>
  await postWithToken(await asOwner(), `/accounts/${grid.acme.id}/settings/team/members/${userId}/remove`)

/** Signs in with the provider, which reports these claims. */
async function come(id: string, claims: Record<string, unknown> = {}) {
  Object.assign(server.claims, claims)
  const one = browser(grid)
  return { one, page: await signInBy(server, one, id) }
}

test('a person outside the account cannot link its provider or join with an identity linked elsewhere', async () => {
  const id = await world.setUp()
  const mallory = await person(grid, { email: 'mallory@elsewhere.example' })
  const one = await signedIn(grid, mallory)

  const link = await world.beginLink(one, id)
  expect([link.status, linkOut(link)]).toEqual([403, undefined])
  expect(link.text).toContain('Only members of the account')
  // Mallory links the same identity at the grid's provider, which has the same issuer.
  Object.assign(server.claims, { sub: 'mallory', email: 'mallory@elsewhere.example' })
  await world.linked(one, 'grid')
  const { page, one: other } = await come(id)
  expect(page.text).toContain('only for addresses of corp.example')
  expect((await other.request(home())).status).toBe(303)
  expect(await member(mallory.email)).toBeUndefined()
})

test('a person cannot link the identity if they are removed from the account while at the provider', async () => {
  const id = await world.setUp()
  const una = await person(grid, { email: 'una@corp.example', role: 'member' })
  const one = await signedIn(grid, una)
  const page = await world.beginLink(one, id)
  const back = await server.wayBack(linkOut(page)!)
  await remove(una.id)

  expect((await one.open(back)).text).toContain('Only members of the account')
  expect(await grid.store.global.identities.ofUser(una.id)).toEqual([])
})

test("a member can link only an identity with a verified address of the account's domain", async () => {
  const id = await world.setUp()
  const una = await person(grid, { email: 'una@private.example', role: 'member' })
  const one = await signedIn(grid, una)
  Object.assign(server.claims, { email_verified: false })
  expect((await world.linked(one, id)).text).toContain('does not report una@corp.example as verified')
  Object.assign(server.claims, { email_verified: true, email: 'una@elsewhere.example' })
  expect((await world.linked(one, id)).text).toContain('only for addresses of corp.example')
  expect(await grid.store.global.identities.ofUser(una.id)).toEqual([])

  server.claims.email = 'una@corp.example'
  await world.linked(one, id)
  expect(await grid.store.global.identities.ofUser(una.id)).toHaveLength(1)
})

test.each<[unknown, boolean]>([
  [true, true],
  ['true', true],
  [false, false],
  ['false', false],
  ['True ', false],
  [1, false],
  [undefined, false],
])('a user whose email_verified is %j can join: %s', async (verified, joins) => {
  const id = await world.setUp()
  const { page } = await come(id, { email_verified: verified })

  expect((await member('una@corp.example')) !== undefined).toBe(joins)
  if (!joins) expect(page.text).toContain('An owner of the account can confirm')
  // A refused person does not become a user.
  expect((await world.userOf('una@corp.example')) !== undefined).toBe(joins)
})

test("an owner can trust the issuer for addresses of the account's domain only", async () => {
  const id = await world.setUp({ isTrusted: 'on', emailClaim: 'upn' })
  delete server.claims.email_verified
  Object.assign(server.claims, { email: 'una@elsewhere.example', groups: undefined })
  expect((await come(id)).page.text).toContain('only for addresses of corp.example')
  await come(id, { email: 'una@corp.example' })

  expect(await world.userOf('una@corp.example')).toMatchObject({
    emailVerifiedAt: grid.clock.now,
    registeredByShownLink: false,
  })
  expect(await member('una@corp.example')).toMatchObject({ role: 'member' })
})

test.each([
  'https://login.microsoftonline.com/common/v2.0',
  'https://login.microsoftonline.com/organizations/v2.0',
  'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  'https://gitlab.com',
  'https://api.login.yahoo.com',
  'https://huggingface.co',
])('an owner cannot trust %s, where anybody can register', async (issuer) => {
  const given = { ...world.given(), issuer, isTrusted: 'on' }

  const refused = await postWithToken(await asOwner(), `${settings(grid.acme)}`, given)

  expect(refused.text).toContain('This issuer is open to everyone')
  expect(await grid.acme.store.feature(ssoTables).read.get()).toBeUndefined()
})

test('a removed member is refused until an owner lets them in, and the owner sees the refused sign-in', async () => {
  const id = await world.setUp()
  await come(id)
  const una = (await world.userOf('una@corp.example'))!
  await remove(una.id)

  const refused = await come(id)
  expect(refused.page.text).toContain('You were removed from this account')
  expect((await refused.one.request(home())).status).toBe(303)
  expect(await member('una@corp.example')).toBeUndefined()

  const admin = await signedIn(grid, await person(grid, { role: 'admin' }))
  const letIn = `${settings(grid.acme)}/let-in`
  expect((await postWithToken(admin, letIn, { member: una.id })).status).toBe(403)
  expect((await come(id)).page.text).toContain('You were removed')

  const listed = await (await asOwner()).open(settings(grid.acme))
  expect(listed.text).toContain('refused: removed from the account')
  const one = await asOwner()
  await one.submit(settings(grid.acme), {}, letIn)
  expect((await one.open(settings(grid.acme))).text).not.toContain('Let in again')
  await come(id)
  expect(await member('una@corp.example')).toMatchObject({ role: 'member' })
  expect((await activityOf(grid)).map(({ tool }) => tool)).toContain('let_member_in')
})

test('a removed member cannot join again by unlinking their identity or changing their address', async () => {
  const id = await world.setUp()
  await come(id)
  const una = (await world.userOf('una@corp.example'))!
  await grid.store.write([grid.store.global.users.setEmail(una.id, 'una@private.example', 1)])
  await remove(una.id)
  await grid.store.write([grid.store.global.identities.removeAll(una.id)])

  expect((await come(id)).page.text).toContain('You were removed')

  // Ina is a member with a password who has never used the provider.
  const ina = await person(grid, { email: 'ina@corp.example', role: 'member' })
  await remove(ina.id)
  await grid.store.write([grid.store.global.users.setEmail(ina.id, 'ina@private.example', 1)])
  expect((await come(id, { sub: 'u-ina', email: 'ina@corp.example' })).page.text).toContain('You were removed')
  expect(await world.userOf('ina@corp.example')).toBeUndefined()
})

test('a removed member cannot return with an identity they linked but never used, or with a new one for the same address', async () => {
  const id = await world.setUp()
  const ina = await person(grid, { email: 'ina@private.example', role: 'member' })
  Object.assign(server.claims, { sub: 'u-ina', email: 'ina@corp.example' })
  await world.linked(await signedIn(grid, ina), id)
  await grid.store.write([grid.store.global.identities.removeAll(ina.id)])
  await remove(ina.id)
  expect((await come(id)).page.text).toContain('You were removed')

  expect((await come(id, { sub: 'u-other' })).page.text).toContain('You were removed')
  expect(await world.userOf('ina@corp.example')).toBeUndefined()
})

test('an unverified address that a removed member claims is not blocked for its real user', async () => {
  const id = await world.setUp()
  await come(id)
  await remove((await world.userOf('una@corp.example'))!.id)
  expect((await come(id, { email: 'ina@corp.example', email_verified: false })).page.text).toContain('as verified')

  await come(id, { sub: 'u-ina', email_verified: true })

  expect(await member('ina@corp.example')).toMatchObject({ role: 'member' })
})

test('a viewer cannot become a member by leaving and joining again', async () => {
  const id = await world.setUp()
  const { one } = await come(id)
  const una = (await member('una@corp.example'))!
  const team = `/accounts/${grid.acme.id}/settings/team`
  await postWithToken(await asOwner(), `${team}/members/${una.userId}/role`, { role: 'viewer' })
  expect(await member(una.email)).toMatchObject({ role: 'viewer' })
  await postWithToken(one, `${team}/leave`)

  expect((await come(id)).page.text).toContain('left it as a viewer')
  expect(await member(una.email)).toBeUndefined()
})

test('a member who left can join again with the provider', async () => {
  const id = await world.setUp()
  const { one } = await come(id)
  await postWithToken(one, `/accounts/${grid.acme.id}/settings/team/leave`)
  expect(await member('una@corp.example')).toBeUndefined()

  await come(id)
  expect(await member('una@corp.example')).toBeDefined()
})

test('a removal ends invitations to the address, and only a later invitation lets the user join again', async () => {
  const invite = async (by: Browser) =>
    await postWithToken(by, `/accounts/${grid.acme.id}/settings/team/invitations`, { email: una.email, role: 'member' })
  const una = await person(grid, { email: 'una@outside.example' })
  await invite(await asOwner())
  const old = emailedPath(grid)
  await rows(grid, 'INSERT INTO memberships (account_id, user_id, role, created_at) VALUES (?, ?, ?, 1)', [
    ...[grid.acme.id, una.id, 'member'],
  ])
  grid.clock.now += 1_000
  await remove(una.id)
  const one = await signedIn(grid, una)
  expect((await one.open(old)).text).toContain('was used or withdrawn')
  // Even an open invitation is refused. It stays open if the user takes its address only after the removal.
  await rows(grid, 'UPDATE invitations SET ended_at = NULL WHERE account_id = ?', [grid.acme.id])
  expect((await one.submit(old, {})).text).toContain('You have been removed from this account since')
  await rows(grid, 'UPDATE invitations SET ended_at = 1 WHERE account_id = ?', [grid.acme.id])

  grid.clock.now += 600_000
  await invite(await asOwner())
  await one.submit(emailedPath(grid), {})

  expect(await member(una.email)).toMatchObject({ role: 'member' })
  expect(await rows(grid, 'SELECT * FROM removed_members WHERE account_id = ?', [grid.acme.id])).toEqual([])
})

test('nobody can join a deleted account with its provider, by an invitation, or at the moment of its deletion', async () => {
  const id = await world.setUp()
  const ina = await person(grid, { email: 'ina@outside.example' })
  const team = `/accounts/${grid.acme.id}/settings/team/invitations`
  await postWithToken(await asOwner(), team, { email: ina.email, role: 'member' })
  const invitation = emailedPath(grid)
  await grid.acme.store.write(grid.acme.store.change.removal.delete(grid.clock.now))

  expect(await beginAt(browser(grid), id)).toContain('There is no such single sign-on')
  expect((await (await signedIn(grid, ina)).open(invitation)).text).toContain('was used or withdrawn')
  await expect(grid.acme.store.write(await join(grid.acme.store, { id: ina.id, role: 'member' }, { by: 'operator' })))
    .rejects.toMatchObject({ code: 'write_conflict' })
})

test('a user can join by claiming or creating an account only with an address that is their own and verified', async () => {
  const una = await person(grid, { email: 'una@corp.example', isVerified: false })
  const account = grid.acme.store
  const user = { id: una.id, role: 'owner' as const }
  const other = { by: 'claim', email: 'ann@corp.example' } as const

  for (const way of [other, { ...other, email: una.email }, { by: 'creation', email: una.email } as const]) {
    await expect(account.write(await join(account, user, way))).rejects.toMatchObject({ code: 'write_conflict' })
  }
  await grid.store.write([grid.store.global.users.verifyEmail(una.id, una.email, 1)])
  await account.write(await join(account, user, { by: 'claim', email: una.email }))
  expect(await member(una.email)).toMatchObject({ role: 'owner' })
})
