/** What a provider reports about a user, and what the account's owner sees. See docs/people.md, "Single sign-on". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { addressOf, roleOf } from '../../../src/features/single-sign-on/claims.ts'
import { sortIdentities } from '../../../src/grid/people/prove-address.ts'
import { allSso, type SsoProvider, ssoTables } from '../../../src/features/single-sign-on/store.ts'
import { minute } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import type { TestGrid } from '../../support/grid.ts'
import { beginAt, linkOut, type OidcServer, signInBy } from '../../support/oidc.ts'
import { csrfTokenOf, emailedPath, person, signedIn } from '../../support/people.ts'
import { postWithToken } from '../../support/roles.ts'
import { callback, settings, type SsoGrid, ssoGrid } from '../../support/sso.ts'

let world: SsoGrid
let grid: TestGrid
let server: OidcServer
beforeEach(() => begin({}))
afterEach(() => world.close())

async function begin(env: Record<string, string>) {
  world = await ssoGrid(env)
  ;({ grid, server } = world)
}

const asOwner = () => signedIn(grid, world.owner)
const come = async (id: string) => {
  const one = browser(grid)
  return { one, page: await signInBy(server, one, id) }
}
const una = async () => (await grid.acme.store.read.team.memberByEmail('una@corp.example'))!
const latest = async () => (await grid.acme.store.feature(ssoTables).read.signIns(1))[0]

const who = (claims: Record<string, unknown>, issuer = 'https://login.corp.example') => ({
  ...{ issuer, subject: 'u-1', claims, provedAt: null, userInfo: 'given' as const },
})
const roles = { ops: 'admin', 'read only': 'viewer', guests: 'viewer', staff: 'member', 'a,b': 'admin' } as const
const roleIn = (claims: Record<string, unknown>, roleClaim = 'groups') =>
  roleOf({ roleClaim, roles } as unknown as SsoProvider, who(claims))

test.each<[unknown, string | null]>([
  ['ops', 'admin'],
  [['nobody', 'ops'], 'admin'],
  ['staff,guests', 'member'],
  ['nobody, guests', 'viewer'],
  ['a,b', 'admin'],
  ['read only', 'viewer'],
  ['staff ops', 'admin'],
  // The word "no" is not mapped, so "no ops" may be a single name, and gives no role.
  ['no ops', null],
  ['former ops, guests', 'viewer'],
  ['', null],
  [[], null],
  [null, null],
  [undefined, null],
  [{ ops: true }, null],
  ['constructor', null],
  [['__proto__'], null],
])('the claim %j gives the role %s', (value, role) => {
  expect(roleIn({ groups: value })).toBe(role)
})

test('a claim is found by its flat name first, and then by its path, even if a name in it contains dots', () => {
  const nested = { realm_access: { roles: ['ops'] }, resource_access: { 'the.grid': { roles: 'guests' } } }
  expect(roleIn(nested, 'realm_access.roles')).toBe('admin')
  expect(roleIn(nested, 'resource_access.the.grid.roles')).toBe('viewer')
  expect(roleIn({ ...nested, 'realm_access.roles': 'staff' }, 'realm_access.roles')).toBe('member')
  expect(roleIn({ 'https://corp.example/roles': 'ops' }, 'https://corp.example/roles')).toBe('admin')
  expect(roleIn(nested, 'constructor.name')).toBe(null)
})

test('an address from Google counts as verified only if the token names its organization', () => {
  const rulesOf = (issuer: string) => ({ issuer, emailClaim: '', trustedDomains: ['corp.example'] })
  const said = (claims: object, issuer: string, setUp = issuer) =>
    addressOf(who({ email: 'una@corp.example', ...claims }, issuer), rulesOf(setUp)).isVerified
  expect(said({}, 'https://login.corp.example')).toBe(true)
  expect(said({}, 'https://accounts.google.com')).toBe(false)
  expect(said({ hd: 'other.example' }, 'https://accounts.google.com')).toBe(false)
  expect(said({ hd: 'corp.example' }, 'https://accounts.google.com')).toBe(true)
  const personal = 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0'
  expect(said({}, personal)).toBe(false)
  // The token names a different issuer than the one the owner trusts.
  const tenant = 'https://login.microsoftonline.com/3f0a1c5e-6a41-4a52-9d1e-0d3c3d1f7b11/v2.0'
  expect(said({}, tenant)).toBe(true)
  expect(said({}, tenant, 'https://login.microsoftonline.com//common/v2.0')).toBe(false)
  expect(said({ email: 'una@elsewhere.example' }, tenant)).toBe(false)
})

test('a user whose role claim disappears becomes a member, unless a person set their role', async () => {
  const id = await world.setUp({ roleClaim: 'groups', roles: 'admin: ops\nviewer: guests' })
  server.claims.groups = 'ops'
  await come(id)
  expect(await una()).toMatchObject({ role: 'admin', roleByClaim: true })
  server.claims._claim_names = { groups: 'src1' }
  delete server.claims.groups
  server.serve([callback(id)], {
    claims: { profile: ['name', 'groups', '_claim_names'], email: ['email', 'email_verified'] },
  })
  await come(id)
  expect(await una()).toMatchObject({ role: 'admin' })
  const page = await (await asOwner()).open(settings(grid.acme))
  expect(page.text).toContain('too many groups')

  delete server.claims._claim_names
  await come(id)
  expect(await una()).toMatchObject({ role: 'member', roleByClaim: false })
  const { userId } = await una()
  const role = `/accounts/${grid.acme.id}/settings/team/members/${userId}/role`
  await postWithToken(await asOwner(), role, { role: 'admin' })
  await come(id)
  expect(await una()).toMatchObject({ role: 'admin', roleByClaim: false })
})

test('a verified address in userinfo does not verify a different address in the ID token', async () => {
  const id = await world.setUp()
  server.serve([callback(id)], {
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: (use) => ({
        sub,
        ...(use === 'id_token' ? { email: 'boss@corp.example' } : { email: 'una@corp.example', email_verified: true }),
      }),
    }),
    conformIdTokenClaims: false,
  })

  expect((await come(id)).page.text).toContain('does not report boss@corp.example as verified')
  expect(await latest()).toMatchObject({ outcome: 'not_verified', report: { email: 'boss@corp.example' } })
})

test.each([
  ['of the same user adds what the ID token lacks, and changes nothing', 'u-1', { role: 'viewer', name: 'Una' }],
  ['of another user says nothing', 'u-2', { role: 'viewer', name: '' }],
])('a userinfo response %s', async (_, sub, member) => {
  const id = await world.setUp({ roleClaim: 'groups', roles: 'admin: ops\nviewer: guests' })
  const signed = { email: 'una@corp.example', email_verified: true, groups: 'guests' }
  server.serve([callback(id)], {
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...signed }) }),
    conformIdTokenClaims: false,
  })
  server.state.userInfo = { sub, ...signed, groups: 'ops', name: 'Una' }
  await come(id)

  expect(await una()).toMatchObject(member)
})

test('an address claim counts only if the owner trusts the issuer, and only in its domain', async () => {
  Object.assign(server.claims, { upn: 'boss@corp.example' })
  const id = await world.setUp({ emailClaim: 'upn' })
  server.serve([callback(id)], { claims: { profile: ['name', 'upn'], email: ['email', 'email_verified'] } })
  await come(id)
  expect(await latest()).toMatchObject({ outcome: 'ok', report: { email: 'una@corp.example' } })

  await postWithToken(await asOwner(), `${settings(grid.acme)}`, {
    ...world.given(),
    emailClaim: 'upn',
    isTrusted: 'on',
  })
  server.claims.sub = 'u-2'
  grid.clock.now += minute
  await come(id)
  expect((await latest()).report).toMatchObject({ email: 'boss@corp.example', isVerified: true })
})

test('a sign-in cancelled at the provider is reported as cancelled', async () => {
  const one = browser(grid)
  const back = await server.wayBack(await beginAt(one, 'grid'))
  const state = new URL(back, server.issuer).searchParams.get('state')!
  const denied = new URLSearchParams({ error: 'access_denied', state, iss: server.issuer })

  expect((await one.open(`/sso/grid/callback?${denied}`)).text).toContain('cancelled')
})

test('a provider that does not respond is saved as a draft, which cannot be used until it is saved again', async () => {
  const one = await asOwner()
  const given = { ...world.given(), issuer: `${server.issuer}/other` }
  await postWithToken(one, `${settings(grid.acme)}`, given)
  const draft = (await grid.acme.store.feature(ssoTables).read.get())!
  world.records['corp.example'] = [`agent-grid-verification=${draft.proof}`]
  await postWithToken(one, `${settings(grid.acme)}/verify`)
  expect((await one.open(settings(grid.acme))).text).toContain('This is a draft, which signs nobody in')
  expect(await beginAt(browser(grid), draft.id)).toMatch(/^404/)
  expect((await browser(grid).open('/sign-in')).text).not.toContain('with your company')

  // The provider states another issuer, which the page names.
  server.serve([callback(draft.id)], { said: 'https://login.bank.example' })
  await postWithToken(one, `${settings(grid.acme)}`, world.given())
  expect((await one.open(settings(grid.acme))).text).toContain(
    'The provider reports the issuer https://login.bank.example',
  )
  expect(JSON.stringify(grid.logs)).toContain('https://login.bank.example')

  server.serve([callback(draft.id)])
  await postWithToken(one, `${settings(grid.acme)}`, world.given())
  await come(draft.id)
  expect(await una()).toBeDefined()
  // Other settings can be changed while the provider is down, because its issuer has been checked before.
  server.stop()
  await postWithToken(one, `${settings(grid.acme)}`, { ...world.given(), name: 'Corp Ltd' })
  expect(await grid.acme.store.feature(ssoTables).read.get()).toMatchObject({ name: 'Corp Ltd', draft: '' })
})

test("a provider cannot claim to be another issuer, even if its discovery document's URL is given", async () => {
  const one = await asOwner()
  server.serve([], { said: 'https://accounts.google.com' })
  for (const end of ['/.well-known/openid-configuration?x', '/.well-known/openid-configuration']) {
    await postWithToken(one, `${settings(grid.acme)}`, { ...world.given(), issuer: `${server.issuer}${end}` })

    const { draft } = (await grid.acme.store.feature(ssoTables).read.get())!
    expect(draft).toContain('https://accounts.google.com')
  }
})

test("an owner's test of the provider shows the response and stores nothing", async () => {
  const id = await world.setUp({ roleClaim: 'groups', roles: 'admin: ops' })
  const one = await asOwner()
  const before = await rows(grid, 'SELECT count(*) AS n FROM users', [])
  const begun = await one.submit(settings(grid.acme), {}, `/sso/${id}/try`)
  const back = await server.wayBack(linkOut(begun)!)
  expect((await browser(grid).open(back)).text).toContain('Begin it again')
  const tried = await one.open(back)

  expect(tried.text).toContain('It works')
  expect(tried.text).toContain('una@corp.example (verified)')
  expect(tried.text).toContain('were not received groups')
  expect(await rows(grid, 'SELECT count(*) AS n FROM users', [])).toEqual(before)
  expect(await grid.acme.store.feature(ssoTables).read.signIns(9)).toEqual([])
  expect((await one.open(settings(grid.acme))).status).toBe(200)
  for (const role of ['admin', 'member'] as const) {
    const other = await signedIn(grid, await person(grid, { role }))
    const csrf = await csrfTokenOf(other, '/new-account')
    expect((await other.post(`/sso/${id}/try`, { csrf, account: grid.acme.id })).status).toBe(403)
  }
})

/** Returns a user whose address the provider has not verified, and the path of a sign-in link for the user. */
async function unproved() {
  server.claims.email_verified = false
  const { one } = await come('grid')
  await browser(grid).submit('/sign-in-link', { email: 'una@corp.example' })
  return { one, link: emailedPath(grid), user: (await world.userOf('una@corp.example'))! }
}

test("an email link keeps the provider's identity if it is followed in the session that this identity started", async () => {
  const { one, link, user } = await unproved()

  expect((await one.submit(link, {})).at).not.toContain('unlinked')

  expect(await grid.store.global.identities.ofUser(user.id)).toHaveLength(1)
  expect((await come('grid')).page.at).toBe('/new-account')
})

test('an email link followed in another session unlinks the identity, and the page offers to link it again', async () => {
  const { one, link, user } = await unproved()
  // Another identity, linked in advance by an attacker.
  const prepared = { issuer: server.issuer, subject: 'prepared' }
  await grid.store.write(grid.store.feature(allSso).addIdentity(user.id, prepared, null, 1))
  const elsewhere = browser(grid)
  const told = await elsewhere.submit(link, {})

  expect(told.at).toContain('/sso/unlinked')
  expect(told.text).toContain('was unlinked from your user')
  expect(await grid.store.global.identities.ofUser(user.id)).toEqual([])
  expect((await one.open('/new-account')).at).toContain('/sign-in')
  await elsewhere.send(told, {}, '/sso/grid/link')
  const session = { user, sessionId: 's', identity: prepared }
  await grid.store.write(grid.store.feature(allSso).addIdentity(user.id, prepared, null, 1))
  expect((await sortIdentities(grid.store, { ...user, id: world.owner.id }, session)).kept).toEqual([])
})

test('an identity is kept if the operator trusts its issuer for the address', async () => {
  const { link, user } = await unproved()
  const kept = (domains: string[]) =>
    sortIdentities(
      { ...grid.store, deps: { ...grid.deps, config: { ...grid.deps.config, oidcTrustedDomains: domains } } },
      user,
      undefined,
    )
  expect((await kept(['other.example'])).kept).toEqual([])
  expect((await kept(['corp.example'])).kept).toHaveLength(1)
  expect(link).toContain('/sign-in-link/')

  await world.close()
  await begin({ OIDC_TRUSTED_DOMAINS: 'corp.example' })
  server.claims.email_verified = false
  await come('grid')
  expect(await world.userOf('una@corp.example')).toMatchObject({ registeredByShownLink: false })
})

test('an identity with a different address is removed, even if its issuer is trusted', async () => {
  await world.close()
  await begin({ OIDC_TRUSTED_DOMAINS: 'corp.example' })
  const una = await person(grid, { email: 'una@corp.example', isVerified: false })
  await rows(grid, 'UPDATE users SET registered_by_shown_link = 1 WHERE id = ?', [una.id])
  Object.assign(server.claims, { sub: 'mallory', email: 'mallory@corp.example' })
  await world.linked(await signedIn(grid, una), 'grid')

  const { kept, removed } = await sortIdentities(grid.store, una, undefined)
  expect([kept, removed.map(({ subject }) => subject)]).toEqual([[], ['mallory']])
})

test('a user with an unverified address is told so before creating an account, and can verify it there', async () => {
  delete server.claims.email_verified
  const { one } = await come('grid')
  grid.clock.now += minute
  const page = await one.open('/new-account')
  expect(page.text).toContain('Your address is not verified')
  await one.send(page, {}, '/new-account/verify')
  await one.submit(emailedPath(grid), {})

  expect((await one.open('/new-account')).text).not.toContain('not verified')
  expect((await one.submit('/new-account', { name: 'Mine' })).text).toContain('Mine')
})
