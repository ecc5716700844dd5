/** Invitations on a grid that sends no email. The inviter passes the link on, so the link does not prove an address. */
import { beforeEach, expect, test } from 'vitest'
import { createAccount } from '../../../src/grid/accounts/accounts.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { repeatAttempts, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { emailedPath, password, person, signedIn, signedInByEmail } from '../../support/people.ts'
import { addPasskey } from '../../support/second-factor.ts'
import { waitFor } from '../../support/wait-for.ts'

const victim = 'vic@people.example'
let grid: TestGrid
let eve: Browser
let team: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  Object.assign(grid.deps.email, { isConfigured: false })
  eve = await signedIn(grid, await person(grid, { role: 'owner', name: 'Eve' }))
  team = `/accounts/${grid.acme.id}/settings/team`
})

const invite = (email = victim, role = 'member') => eve.submit(team, { email, role }, `${team}/invitations`)
const linkOn = (html: string) => html.match(/\/invitations\/\w{43}/)?.[0]
const userOf = async (email = victim) => (await grid.store.global.users.byEmail(email))!

/** Eve invites the victim and joins in the victim's name. Resolves to her browser as that user. */
async function squat(): Promise<Browser> {
  const link = linkOn((await invite()).html)!
  const squatter = browser(grid)
  await squatter.submit(link, { name: 'Not Vic', password }, `${link}/register`)
  return squatter
}

/** Signs up an agent with the victim's address. Resolves to its claim link. */
async function signUp(): Promise<string> {
  const input = { owner_email: victim, alias: 'harbour' }
  return new URL((await (await grid.post('/api/v1/agentic-signup', input)).json()).trial.claim_url).pathname
}

test('the inviter gets the link, and the user who joins with it has an unverified address', async () => {
  const page = await invite()

  expect(page.text).toContain('Pass this link on')
  expect(page.text).not.toContain('on its way')
  expect(grid.emails).toEqual([])
  expect(grid.logs.join()).not.toContain(linkOn(page.html))
  const link = linkOn(page.html)!
  const vic = browser(grid)
  expect((await vic.open(link)).text).toContain('This link does not prove that the address is yours')
  const joined = await vic.submit(link, { name: 'Vic', password }, `${link}/register`)
  expect(joined.text).toContain('Welcome to the account')
  expect((await userOf()).emailVerifiedAt).toBeNull()
  expect((await vic.open(`${team.replace('team', 'profile')}`)).text).toContain('not verified')
})

test('if the invited address has a user, the link is logged, and the page does not claim that it was sent', async () => {
  await person(grid, { email: victim })

  const page = await invite()

  expect(linkOn(page.html)).toBeUndefined()
  expect(page.text).toContain('The operator can find the link in the server’s log')
  expect(page.html).not.toContain('notice good')
  expect(grid.emails).toMatchObject([{ kind: 'invitation', to: victim }])
})

test('a new invitation link replaces the first immediately, and the number of invitations is limited', async () => {
  const first = linkOn((await invite()).html)!
  const [{ id }] = await grid.acme.store.read.team.invitations()
  const second = linkOn((await eve.submit(team, {}, `${team}/invitations/${id}/again`)).html)!

  expect((await browser(grid).open(first)).status).toBe(400)
  expect((await browser(grid).open(second)).text).toContain('Eve invites')
  await repeatAttempts(grid, 'mail_sender', 97)
  await invite('other@people.example')
  const limited = await invite('third@people.example')
  expect(limited.status).toBe(429)
  expect(limited.text).toContain('Too many invitations.')
  expect(limited.html).toContain('value="third@people.example"')
})

test('a user who joined with an unsent link can neither claim agents nor create accounts', async () => {
  const claim = await signUp()
  const squatter = await squat()

  const page = await squatter.open(claim)
  expect(page.status).toBe(403)
  expect(page.text).toContain('verify that this email address is yours')
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  const forged = await squatter.post(claim, { csrf, name: 'Mine' })
  expect(forged.status).toBe(403)
  const account = await squatter.submit('/new-account', { name: 'Mine' })
  expect(account.status).toBe(403)
  expect(account.text).toContain('Verify your email address first')
  expect(account.html).toContain('value="Mine"')
})

test('a signed-in user who accepts an unsent link does not verify the address either', async () => {
  const link = linkOn((await invite()).html)!
  await person(grid, { email: victim, isVerified: false })
  const vic = await signedInByEmail(grid, victim)

  const joined = await vic.submit(link, {})

  expect(joined.text).toContain('Welcome to the account')
  expect((await userOf()).emailVerifiedAt).toBeNull()
})

/** The ways in which an address's owner proves the ownership, each with a link that only the owner can read. */
const proofs: [string, (vic: Browser) => Promise<unknown>][] = [
  ['a sign-in link', async (vic) => {
    await vic.submit('/sign-in-link', { email: victim })
    await vic.submit(emailedPath(grid), {})
  }],
  ['a reset link', async (vic) => {
    await vic.submit('/reset', { email: victim })
    await vic.submit(emailedPath(grid), { password: 'a password of the victim' })
  }],
  ['a claim link', async (vic) => {
    // The signup itself sends the claim email, in the background.
    const claim = await signUp()
    const sent = await waitFor('the claim email', () => grid.emails.find(({ link }) => link?.includes(claim)))
    await vic.submit(new URL(sent.link!).pathname, {})
  }],
]

test.each(proofs)("verifying by %s transfers the user to the address's owner", async (_, prove) => {
  const squatter = await squat()
  await addPasskey(grid, await userOf(), 'of Eve')
  expect((await squatter.open('/')).at).toMatch(/^\/accounts\//)
  const vic = browser(grid)

  await prove(vic)

  expect((await vic.open('/')).at).toMatch(/^\/accounts\//)
  expect((await userOf()).emailVerifiedAt).not.toBeNull()
  expect((await squatter.open(`/accounts/${grid.acme.id}`)).at).toMatch(/^\/sign-in/)
  expect((await browser(grid).signIn(victim, password)).text).toContain('The email address or the password is wrong.')
  expect(await rows(grid, 'SELECT id FROM passkeys')).toEqual([])
})

test('a user keeps everything when they verify their address in their own session', async () => {
  const vic = await squat()
  const profile = team.replace('team', 'profile')
  const page = await vic.submit(profile, {}, `${profile}/verify`)
  expect(page.text).toContain('This grid does not send email')

  await vic.submit(emailedPath(grid), {})

  expect((await userOf()).emailVerifiedAt).not.toBeNull()
  expect((await browser(grid).signIn(victim, password)).at).toMatch(/^\/accounts\//)
})

test('an account that the operator creates for an address does not go to a user who has not verified it', async () => {
  const squatter = await squat()

  await createAccount(grid.store, { name: 'Harbour', ownerEmail: victim }, { type: 'system', job: 'test' })

  expect((await squatter.open('/')).at).toBe('/')
  expect((await browser(grid).signIn(victim, password)).text).toContain('The email address or the password is wrong.')
})
