/** Single sign-on with a real provider. See docs/people.md, "Single sign-on". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkDomains, recordOf } from '../../../src/features/single-sign-on/provider.ts'
import { allSso, ssoTables } from '../../../src/features/single-sign-on/store.ts'
import { attentionOf } from '../../../src/grid/attention/attention.ts'
import { day, minute } from '../../../src/lib/time.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import type { TestGrid } from '../../support/grid.ts'
import { beginAt, clientSecret, linkOut, type OidcServer, signInBy } from '../../support/oidc.ts'
import { csrfTokenOf, emailedPath, membership, password, type Person, person, signedIn } from '../../support/people.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { callback, settings, type SsoGrid, ssoGrid } from '../../support/sso.ts'
import { addTotp, codeOf } from '../../support/second-factor.ts'

let grid: TestGrid
let server: OidcServer
let owner: Person
let records: SsoGrid['records']
let world: SsoGrid

beforeEach(async () => {
  world = await ssoGrid()
  ;({ grid, server, owner, records } = world)
})
afterEach(() => world.close())

const userOf = (email: string) => world.userOf(email)
const given = (domain?: string) => world.given(domain)
const setUp: SsoGrid['setUp'] = (...of) => world.setUp(...of)
const beginLink: SsoGrid['beginLink'] = (...of) => world.beginLink(...of)
const linked: SsoGrid['linked'] = (...of) => world.linked(...of)
const acmeSettings = () => settings(grid.acme)
const acmeKeys = () => `/accounts/${grid.acme.id}/settings/account/keys`

async function requireIt(): Promise<void> {
  await addTotp(grid, owner)
  await postWithToken(await signedIn(grid, owner), `${acmeSettings()}/required`, { required: 'yes' })
  expect((await grid.acme.store.feature(ssoTables).read.get())!.isRequired).toBe(true)
}

test("the grid's provider creates a user at the first sign-in, and finds them later even if their address has changed", async () => {
  const one = browser(grid)
  expect((await one.open('/sign-in')).text).toContain('Sign in with Corp')
  await signInBy(server, one, 'grid')
  const una = (await userOf('una@corp.example'))!
  expect(una).toMatchObject({ name: 'Una', passwordHash: null, emailVerifiedAt: grid.clock.now })

  server.claims.email = 'una@new.example'
  const other = browser(grid)
  expect((await signInBy(server, other, 'grid')).at).toBe('/new-account')
  expect((await other.open('/new-account')).text).toContain('una@corp.example')
  expect(await userOf('una@new.example')).toBeUndefined()
})

test("an address that the provider has not verified does not become the user's verified address", async () => {
  server.claims.email_verified = false
  await signInBy(server, browser(grid), 'grid')

  expect(await userOf('una@corp.example')).toMatchObject({ emailVerifiedAt: null, registeredByShownLink: true })
})

test("a provider's sign-in never takes over a user with the same address, who must link the identity themselves", async () => {
  const una = await person(grid, { email: 'una@corp.example', role: 'member' })
  const stranger = browser(grid)
  expect((await signInBy(server, stranger, 'grid')).text).toContain('Sign in as that user in another way')
  expect((await stranger.request('/new-account')).status).toBe(303)

  const one = await signedIn(grid, una)
  await linked(one, 'grid')

  const other = browser(grid)
  await signInBy(server, other, 'grid')
  expect((await other.open(`/accounts/${grid.acme.id}/settings/security`)).text).toContain(server.issuer)
  expect((await activityOf(grid)).map(({ tool, by }) => `${tool} by ${by}`)).toContain('link_provider by user session')
  // Another user cannot link the same identity.
  const olga = await signedIn(grid, owner)
  expect((await linked(olga, 'grid')).text).toContain('another user here')

  await one.submit(
    `/accounts/${grid.acme.id}/settings/security`,
    {},
    `/accounts/${grid.acme.id}/settings/security/unlink`,
  )
  expect((await signInBy(server, browser(grid), 'grid')).text).toContain('Sign in as that user in another way')
})

test('linking an identity requires a recent confirmation, and is possible only in the session that began it', async () => {
  const one = await signedIn(grid, owner)
  const page = await beginLink(one, 'grid')
  const back = await server.wayBack(linkOut(page)!)
  const other = await signedIn(grid, await person(grid, { role: 'member' }))
  for (const [name, value] of one.cookies) if (name.endsWith('sso')) other.cookies.set(name, value)
  expect((await other.open(back)).text).toContain('Begin it again')

  grid.clock.now += 11 * minute
  expect((await beginLink(one, 'grid')).at).toContain('/confirm')
  expect(await grid.store.global.identities.ofUser(owner.id)).toEqual([])
})

test("a provider's response is accepted once, within ten minutes, in the browser that began the sign-in", async () => {
  const one = browser(grid)
  const back = await server.wayBack(await beginAt(one, 'grid'))
  expect((await browser(grid).open(back)).text).toContain('Begin it again')
  await one.open(back)
  expect((await one.open(back)).text).toContain('Begin it again')

  const late = await server.wayBack(await beginAt(one, 'grid'))
  grid.clock.now += 10 * minute
  expect((await one.open(late)).text).toContain('Begin it again')
  const forged = await server.wayBack(await beginAt(one, 'grid'))
  expect((await one.open(forged.replace(/state=[^&]+/, 'state=x'))).text).toContain('Begin it again')
})

test('a sign-in starts on a page that names the provider and the account, never by opening a URL alone', async () => {
  const id = await setUp()
  for (const [provider, account] of [['grid', undefined], [id, 'Acme']] as const) {
    const response = await browser(grid).request(`/sso/${provider}`)
    expect([response.status, response.headers.get('location')]).toEqual([200, null])
    const text = (await browser(grid).open(`/sso/${provider}`)).text
    expect(text).toContain('Sign in with Corp')
    if (account) expect(text).toContain(`This opens the account ${account}`)
  }
  // A link that was requested in another browser does not work.
  const attacker = browser(grid)
  const back = await server.wayBack(await beginAt(attacker, id))
  const victim = await signedIn(grid, owner)
  await victim.open(`/sso/${id}`)
  expect((await victim.open(back)).text).toContain('Begin it again')
  expect((await victim.open(settings(grid.acme))).status).toBe(200)
})

test("a callback replaces another user's session only after a click in the same browser, once", async () => {
  const one = await signedIn(grid, owner)
  const asked = await signInBy(server, one, 'grid')
  expect(asked.text).toContain('You are signed in as olga@acme.example')
  expect(asked.text).toContain('as una@corp.example')
  expect((await one.open(settings(grid.acme))).status).toBe(200)

  const other = await signedIn(grid, owner)
  const token = asked.html.match(/name="token" value="([^"]+)"/)![1]
  const replaceIn = async (one: Browser) =>
    await one.post('/sso/grid/replace', { token, csrf: await csrfTokenOf(one, '/new-account') })
  expect((await replaceIn(other)).text).toContain('Begin it again')
  await one.send(asked, {}, '/sso/grid/replace')
  expect((await one.open('/new-account')).text).toContain('una@corp.example')
  expect((await replaceIn(one)).text).toContain('Begin it again')

  // A session that waits for its second factor does not end another session either.
  await addTotp(grid, owner)
  await grid.setPassword(owner.email, password)
  const half = browser(grid)
  expect((await half.signIn(owner.email, password)).at).toBe('/second-factor')
  expect((await signInBy(server, half, 'grid')).text).toContain('You are signed in as olga@acme.example')
})

test("a sign-in that waits for the user's click is cancelled when its identity or provider is removed", async () => {
  const id = await setUp()
  await signInBy(server, browser(grid), id)
  const una = (await userOf('una@corp.example'))!
  const one = await signedIn(grid, owner)
  const identity = { issuer: server.issuer, subject: 'u-1' }
  const asked = await signInBy(server, one, 'grid')
  await grid.store.write(grid.store.feature(allSso).removeIdentity(una.id, identity, '', grid.clock.now))
  expect((await one.send(asked, {}, '/sso/grid/replace')).status).toBe(401)
  expect((await one.open('/new-account')).text).toContain(owner.email)

  await grid.store.write(grid.store.feature(allSso).addIdentity(una.id, identity, null, grid.clock.now))
  const again = await signInBy(server, one, id)
  await postWithToken(await signedIn(grid, owner), `${acmeSettings()}/remove`)
  expect((await one.send(again, {}, `/sso/${id}/replace`)).status).toBe(404)
  expect((await one.open('/new-account')).text).toContain(owner.email)
})

test('unlinking an identity ends the sessions that it started, except the current one', async () => {
  const one = browser(grid)
  await signInBy(server, one, 'grid')
  const other = browser(grid)
  await signInBy(server, other, 'grid')
  const una = (await userOf('una@corp.example'))!
  await grid.setPassword(una.email, password)
  await grid.store.write([membership(grid.store, grid.acme.id, una.id, 'member', grid.clock.now)])
  await one.submit('/confirm', { password })

  const security = `/accounts/${grid.acme.id}/settings/security`
  await one.submit(security, {}, `${security}/unlink`)

  expect((await other.open('/new-account')).at).toContain('/sign-in')
  expect((await one.submit('/confirm', { password })).status).toBe(200)
  expect((await one.open(security)).text).toContain('Nothing is linked')
})

test('an ID token or a confirmation from more than five minutes in the future is refused', async () => {
  for (const [ahead, isRefused] of [[4 * minute, false], [6 * minute, true]] as const) {
    grid.clock.now = Date.now() - ahead
    const { text } = await signInBy(server, browser(grid), 'grid')
    expect(text.includes('has not signed you in')).toBe(isRefused)
  }
})

test('a changed sign-in cookie is refused', async () => {
  const one = browser(grid)
  const back = await server.wayBack(await beginAt(one, 'grid'))
  const [name, kept] = [...one.cookies].find(([name]) => name.endsWith('sso'))!
  const flow = JSON.parse(decodeURIComponent(kept))
  one.cookies.set(name, encodeURIComponent(JSON.stringify({ ...flow, user: owner.id })))

  expect((await one.open(back)).text).toContain('Begin it again')
})

test('an ID token that is expired or has another nonce or signature is refused', async () => {
  const one = browser(grid)
  const url = await beginAt(one, 'grid')
  const refusal = 'has not signed you in'
  expect((await one.open(await server.wayBack(url.replace(/nonce=[^&]+/, 'nonce=other')))).text).toContain(refusal)

  server.state.hidesKeys = true
  expect((await signInBy(server, one, 'grid')).text).toContain(refusal)
  server.state.hidesKeys = false
  server.serve([callback('grid')], { ttl: { IdToken: () => -60 } })
  expect((await signInBy(server, one, 'grid')).text).toContain(refusal)
  expect(await userOf('una@corp.example')).toBeUndefined()
})

test('a provider that claims to be another issuer, or does not respond, is refused', async () => {
  server.serve([callback('grid')], { said: 'https://login.bank.example' })
  expect(await beginAt(browser(grid), 'grid')).toMatch(/^503.*reports a different issuer/s)
  server.stop()
  expect(await beginAt(browser(grid), 'grid')).toMatch(/^503/)
})

test("a response of one provider is refused at another provider's callback", async () => {
  const id = await setUp()
  const one = browser(grid)
  const back = await server.wayBack(await beginAt(one, 'grid'))

  expect((await one.open(back.replace('/sso/grid/', `/sso/${id}/`))).text).toContain('Begin it again')
})

test("an account's provider creates members with addresses in its domain, and their sessions open only that account", async () => {
  const id = await setUp()
  const one = browser(grid)
  const found = await one.submit('/sso', { email: 'someone@corp.example' })
  expect(found.text).toContain('This opens the account Acme')
  expect(linkOut(found)).toContain(encodeURIComponent(callback(id)))
  await signInBy(server, one, id)
  const una = (await userOf('una@corp.example'))!
  expect(await grid.acme.store.read.team.member(una.id)).toMatchObject({ role: 'member' })
  expect((await activityOf(grid)).at(-1)).toMatchObject({ tool: 'sign_in_by_provider', outcome: 'ok' })

  // Una is also a member of another account, which the session must not open.
  await grid.store.write([membership(grid.store, grid.evil.id, una.id, 'owner', 1)])
  expect((await one.request(`/accounts/${grid.acme.id}/home`)).status).toBe(200)
  const elsewhere = await one.open(`/accounts/${grid.evil.id}/home`)
  expect(elsewhere.at).toContain('/sso?account=')
  expect((await one.open(`/accounts/${grid.acme.id}/home`)).html).not.toContain(grid.evil.id)
  for (const path of ['settings/security', 'settings/sessions']) {
    expect((await one.request(`/accounts/${grid.acme.id}/${path}`)).status).toBe(403)
  }
  expect((await one.request('/new-account')).status).toBe(403)
  expect((await beginLink(one, 'grid')).status).toBe(403)
})

test("an account's provider creates no users in other domains, and never takes over users in its own", async () => {
  const id = await setUp()
  server.claims.email = 'una@elsewhere.example'
  expect((await signInBy(server, browser(grid), id)).text).toContain('only for addresses of corp.example')
  await person(grid, { email: 'una@corp.example' })
  server.claims.email = 'una@corp.example'
  expect((await signInBy(server, browser(grid), id)).text).toContain('Sign in as that user in another way')
  expect(await rows(grid, 'SELECT * FROM sso_identities', [])).toEqual([])
})

test('a domain belongs to one account, and only while its DNS record exists', async () => {
  const ed = await person(grid, { role: 'owner', account: grid.evil })
  const evil = await signedIn(grid, ed)
  await postWithToken(evil, `${settings(grid.evil)}`, given())
  const theirs = (await grid.evil.store.feature(ssoTables).read.get())!
  // The provider cannot be used before the record exists.
  expect((await postWithToken(evil, `${settings(grid.evil)}/verify`)).text).toContain('was not found')
  expect(await beginAt(browser(grid), theirs.id)).toMatch(/^404/)
  const id = await setUp()
  records['corp.example'].push(recordOf(theirs))
  expect((await postWithToken(evil, `${settings(grid.evil)}/verify`)).text).toContain('Another account')

  await signInBy(server, browser(grid), id)
  records['corp.example'] = [recordOf(theirs)]
  grid.clock.now += day
  await checkDomains(grid.store)
  const account = grid.store.account(grid.acme.id, owner.actor('owner'))
  expect((await attentionOf(account, undefined)).open).toMatchObject([{ kind: 'domain', level: 1 }])
  for (const role of ['owner', 'admin'] as const) {
    const one = await signedIn(grid, await person(grid, { role }))
    const { html } = await one.open(`/accounts/${grid.acme.id}/attention`)
    expect(html).toContain('The TXT record of corp.example is gone')
    expect(html.includes(`href="${acmeSettings()}"`), role).toBe(role === 'owner')
  }
  grid.clock.now += 6 * day
  await checkDomains(grid.store)
  expect(await beginAt(browser(grid), id)).toContain(server.issuer)

  grid.clock.now += day
  await checkDomains(grid.store)
  expect((await attentionOf(account, undefined)).open).toMatchObject([{ kind: 'domain', level: 2 }])
  expect(await beginAt(browser(grid), id)).toMatch(/^404/)
  const sessions = await rows(grid, 'SELECT ended_at FROM sessions WHERE only_account = ?', [grid.acme.id])
  expect(sessions).toMatchObject([{ ended_at: grid.clock.now }])
  expect((await activityOf(grid)).map(({ tool }) => tool)).toContain('lose_domain')
  // Another account can verify the domain.
  expect((await postWithToken(await signedIn(grid, ed), `${settings(grid.evil)}/verify`)).text).toContain(
    'is verified',
  )
})

test('if a restored DNS record disappears again, the grace period of a week starts again', async () => {
  const id = await setUp()
  const verified = records['corp.example']
  for (const [there, days] of [[[], 1], [verified, 6], [[], 1], [[], 6]] as const) {
    records['corp.example'] = [...there]
    grid.clock.now += days * day
    await checkDomains(grid.store)
  }

  expect(await beginAt(browser(grid), id)).toContain(server.issuer)
})

test.each([
  ['another domain', () => ({ domain: 'other.example' }), false],
  ['another issuer', () => ({ issuer: `${server.issuer}/other` }), false],
  ['another name', () => ({ name: 'Corp Ltd' }), true],
])('sessions continue after their provider gets %s: %s', async (_, change, goesOn) => {
  const id = await setUp()
  await requireIt()
  const one = browser(grid)
  await signInBy(server, one, id)
  const changed = { ...given(), ...change() }
  await postWithToken(await signedIn(grid, owner), acmeSettings(), changed)

  expect((await one.request(`/accounts/${grid.acme.id}/home`)).status).toBe(goesOn ? 200 : 303)
  // A new domain is not verified yet, and until it is, the account does not require the provider.
  const isAsBefore = changed.domain === 'corp.example'
  const { verifiedAt, isRequired } = (await grid.acme.store.feature(ssoTables).read.get())!
  expect([verifiedAt !== null, isRequired]).toEqual([isAsBefore, isAsBefore])
})

test('members must use a required provider, except owners with a second factor, until the operator lifts the requirement', async () => {
  const id = await setUp()
  const una = await person(grid, { email: 'una@corp.example', role: 'member' })
  await requireIt()
  const one = browser(grid)
  await one.signIn('una@corp.example', password)
  const refused = await one.open(`/accounts/${grid.acme.id}/home`)
  expect(refused.text).toContain('asks its members to sign in with Corp')
  // The identity is linked on the refusal page, because the account's pages are closed.
  await linked(one, id)
  await signInBy(server, one, id)
  expect((await one.request(`/accounts/${grid.acme.id}/home`)).status).toBe(200)

  server.stop()
  expect((await (await signedIn(grid, owner)).request(`/accounts/${grid.acme.id}/home`)).status).toBe(200)
  const plain = await signedIn(grid, await person(grid, { role: 'owner' }))
  expect((await plain.open(`/accounts/${grid.acme.id}/home`)).at).toContain('/sso?account=')
  await grid.acme.store.write([grid.acme.store.change.team.stopRequiringProvider()])
  expect((await (await signedIn(grid, una)).request(`/accounts/${grid.acme.id}/home`)).status).toBe(200)
})

test('only an owner with a second factor can require the provider, after its domain is verified', async () => {
  await setUp()
  const one = await signedIn(grid, owner)
  const refused = await postWithToken(one, `${acmeSettings()}/required`, { required: 'yes' })
  expect(refused.text).toContain('second factor of your own')
  await addTotp(grid, owner)
  await rows(grid, 'UPDATE sso_providers SET verified_at = NULL WHERE account_id = ?', [grid.acme.id])
  await postWithToken(await signedIn(grid, owner), `${acmeSettings()}/required`, { required: 'yes' })
  expect((await grid.acme.store.feature(ssoTables).read.get())!.isRequired).toBe(false)
  for (const role of ['admin', 'member'] as const) {
    const other = await signedIn(grid, await person(grid, { role }))
    expect((await postWithToken(other, acmeSettings(), given())).status).toBe(403)
  }
})

test('a client address can sign in 30 times a minute', async () => {
  const one = browser(grid)
  for (let n = 0; n < 30; n++) expect(await beginAt(one, 'grid')).toContain(server.issuer)

  expect(await beginAt(one, 'grid')).toMatch(/^429/)
})

test('changing, requiring or removing the provider requires a recent confirmation', async () => {
  await setUp()
  await addTotp(grid, owner)
  const one = await signedIn(grid, owner)
  grid.clock.now += 11 * minute
  const posts = [['', given('other.example')], ['/required', { required: 'yes' }], ['/remove', {}]] as const
  for (const [path, fields] of posts) await postWithToken(one, `${acmeSettings()}${path}`, { ...fields })

  expect(await grid.acme.store.feature(ssoTables).read.get()).toMatchObject({
    domain: 'corp.example',
    isRequired: false,
  })
})

test("a role claim sets a member's role at each sign-in, but does not change an owner's role", async () => {
  const id = await setUp({ roleClaim: 'groups', roles: 'admin: ops\nviewer: guests' })
  server.claims.groups = ['guests', 'ops']
  await signInBy(server, browser(grid), id)
  const una = (await userOf('una@corp.example'))!
  const role = async () => (await grid.acme.store.read.team.member(una.id))!.role
  expect(await role()).toBe('admin')
  server.claims.groups = 'guests'
  await signInBy(server, browser(grid), id)
  expect(await role()).toBe('viewer')
  server.claims.groups = ['constructor']
  await signInBy(server, browser(grid), id)
  expect(await role()).toBe('member')
  await grid.acme.store.write([grid.acme.store.change.team.setRole(una.id, 'owner')])
  await signInBy(server, browser(grid), id)
  expect(await role()).toBe('owner')
})

test("the provider can confirm the user's identity, and the confirmed session still opens only its account", async () => {
  const id = await setUp({ roleClaim: 'groups', roles: 'admin: ops' })
  server.claims.groups = 'ops'
  const one = browser(grid)
  await signInBy(server, one, id)
  const una = (await userOf('una@corp.example'))!
  await grid.store.write([membership(grid.store, grid.evil.id, una.id, 'owner', 1)])
  const keys = acmeKeys()
  expect((await postWithToken(one, keys, { name: 'A key' })).text).toContain('Sign in again with Corp')

  const again = `?next=${encodeURIComponent(keys)}&fresh=1`
  const stale = (await beginAt(one, id, again)).replace(/&(prompt|max_age)=[^&]+/g, '')
  expect((await one.open(await server.wayBack(stale))).text).toContain('has not signed you in')
  await signInBy(server, one, id, again)
  expect((await postWithToken(one, keys, { name: 'A key' })).text).toContain('grid_adm_')
  expect((await one.open(`/accounts/${grid.evil.id}/home`)).at).toContain('/sso?account=')
})

test('a confirmation that the provider dates in the future lasts no longer than others', async () => {
  const id = await setUp({ roleClaim: 'groups', roles: 'admin: ops' })
  server.claims.groups = 'ops'
  grid.clock.now = Date.now() - 4 * minute
  const one = browser(grid)
  await signInBy(server, one, id, '?fresh=1')
  grid.clock.now += 11 * minute

  expect((await postWithToken(one, acmeKeys(), { name: 'A key' })).text).toContain('Sign in again with')
})

test("the second factor is required after the grid's provider, but not after an account's provider", async () => {
  const id = await setUp()
  const una = await person(grid, { email: 'una@corp.example', role: 'member' })
  for (const provider of ['grid', id]) await linked(await signedIn(grid, una), provider)
  await addTotp(grid, una)

  expect((await signInBy(server, browser(grid), 'grid')).at).toContain('/second-factor')
  expect((await signInBy(server, browser(grid), id)).at).not.toContain('/second-factor')
})

test('a session for a single account cannot complete a link that a full session began', async () => {
  const id = await setUp()
  const una = await person(grid, { email: 'una@corp.example', role: 'member' })
  const one = await signedIn(grid, una)
  await linked(one, id)
  Object.assign(server.claims, { sub: 'u-2', email: 'una@home.example' })
  const back = await server.wayBack(linkOut(await beginLink(one, 'grid'))!)
  const kept = [...one.cookies].find(([name]) => name.endsWith('sso'))!
  Object.assign(server.claims, { sub: 'u-1', email: 'una@corp.example' })
  await one.send(await signInBy(server, one, id), {}, `/sso/${id}/replace`).catch(() => {})
  one.cookies.set(...kept)

  expect((await one.open(back)).status).toBe(403)
  expect(await grid.store.global.identities.ofUser(una.id)).toHaveLength(1)
})

test('the client secret is never shown or logged, and removing the provider ends its sessions', async () => {
  const id = await setUp()
  const one = await signedIn(grid, owner)
  const member = browser(grid)
  await signInBy(server, member, id)
  const shown = (await one.open(acmeSettings())).html
  expect(`${shown} ${JSON.stringify(await activityOf(grid))}`).not.toContain(clientSecret)

  await postWithToken(one, `${acmeSettings()}/remove`)
  expect((await member.open(`/accounts/${grid.acme.id}/home`)).at).toContain('/sign-in')
})

test('neither a second factor nor a new password lets a single-account session open other accounts', async () => {
  const id = await setUp()
  const one = browser(grid)
  await signInBy(server, one, id)
  const una = (await userOf('una@corp.example'))!
  await grid.store.write([membership(grid.store, grid.evil.id, una.id, 'owner', 1)])
  // Adding the first second factor ends the user's other sessions.
  const { secret } = await addTotp(grid, una)
  await signInBy(server, one, id)

  const confirmed = await one.submit('/confirm', { code: codeOf(grid, secret) })
  expect(confirmed.at).not.toContain('/confirm')
  expect((await one.open(`/accounts/${grid.evil.id}/home`)).at).toContain('/sso?account=')

  await grid.setPassword(una.email, password)
  const profile = `/accounts/${grid.acme.id}/settings/profile`
  const changed = { current: password, password: 'another horse battery' }
  expect((await postWithToken(one, `${profile}/password`, changed)).text).toContain('has been changed')
  expect((await one.open(`/accounts/${grid.evil.id}/home`)).at).toContain('/sso?account=')
})

test('a single-account session satisfies a required second factor, and OAuth clients get access only to that account', async () => {
  const id = await setUp({ roleClaim: 'groups', roles: 'admin: ops' })
  server.claims.groups = 'ops'
  await rows(grid, 'UPDATE accounts SET requires_second_factor = 1 WHERE id = ?', [grid.acme.id])
  const one = browser(grid)
  await signInBy(server, one, id)
  expect((await one.request(`/accounts/${grid.acme.id}/agents`)).status).toBe(200)

  const una = (await userOf('una@corp.example'))!
  await grid.store.write([membership(grid.store, grid.evil.id, una.id, 'owner', 1)])
  const registered = await grid.post('/oauth/register', {
    client_name: 'A program',
    redirect_uris: ['http://127.0.0.1:4100/callback'],
  })
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: (await registered.json()).client_id, state: 'a-state' },
    ...{ redirect_uri: 'http://127.0.0.1:4100/callback', resource: 'http://localhost:8787/mcp/v1/grid' },
    ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', scope: 'agent:use admin' },
  })
  const { text } = await one.open(`/oauth/authorize?${query}`)
  expect(text).toContain('@alice')
  expect(text).not.toMatch(/@eve|Evil/)
})

test("a person who verifies an address takes over the user that a provider created for it, without the user's identities", async () => {
  server.claims.email_verified = false
  const one = browser(grid)
  await signInBy(server, one, 'grid')
  await browser(grid).submit('/sign-in-link', { email: 'una@corp.example' })
  const owner = browser(grid)
  const link = emailedPath(grid)
  await owner.submit(link, {})

  expect((await owner.open('/new-account')).text).toContain('una@corp.example')
  expect((await one.open('/new-account')).at).toContain('/sign-in')
  expect(await rows(grid, 'SELECT * FROM sso_identities', [])).toEqual([])
})
