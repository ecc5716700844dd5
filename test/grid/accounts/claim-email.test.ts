/** A claim email's link signs in its user, and is revoked with the user's other links. docs/people.md, "Signing in". */
import { beforeEach, expect, test } from 'vitest'
import { redeemClaimEmailLink, sendClaimEmail } from '../../../src/grid/accounts/claim.ts'
import { signUp } from '../../../src/grid/accounts/signup.ts'
import { requestEmailLink, resetPassword } from '../../../src/grid/people/email-links.ts'
import { changePassword, confirmEmailChange, requestEmailChange } from '../../../src/grid/people/profile.ts'
import { minute } from '../../../src/lib/time.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { emailedPath, password, type Person, person } from '../../support/people.ts'
import { waitFor } from '../../support/wait-for.ts'

const newPassword = 'a new horse battery'
const [here, there] = ['203.0.113.20', '203.0.113.21']

let grid: TestGrid
let vic: Person
let claim: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  vic = await person(grid, { email: 'vic@people.example' })
  const { trial } = await signUp(grid.store, { ownerEmail: vic.email, alias: 'vics-bot' }, there)
  claim = trial.claim_url.split('/').at(-1)!
  await waitFor('the claim email', () => grid.emails.length === 1)
})

const emailedToken = () => emailedPath(grid).split('/').at(-1)!
/** Advances the clock until the same address may get another email. */
const passLimit = () => grid.clock.now += 6 * minute

async function reset() {
  await requestEmailLink(grid.store, 'reset', { email: vic.email }, here)
  await resetPassword(grid.store, emailedToken(), newPassword, null)
}

async function change() {
  await changePassword(grid.store, vic.id, { current: password, password: newPassword }, here)
}

async function changeEmail() {
  await requestEmailChange(grid.store, vic.id, { email: 'victor@people.example', current: password }, here)
  await confirmEmailChange(grid.store, emailedToken(), vic.id)
}

test.each([
  ['a new password by link', reset],
  ['a new password', change],
  ['a new email address', changeEmail],
])('%s revokes the link in a claim email', async (_, act) => {
  const token = emailedToken()
  passLimit()

  await act()

  await expect(redeemClaimEmailLink(grid.store, token, { name: 'Vic', password: '' }, null)).rejects.toMatchObject({
    code: 'link_expired',
  })
})

test("another user's new password does not revoke the link in a claim email", async () => {
  const token = emailedToken()
  const bob = await person(grid)

  await changePassword(grid.store, bob.id, { current: password, password: newPassword }, here)

  expect(await redeemClaimEmailLink(grid.store, token, { name: '', password: '' }, null)).toMatchObject({
    userId: vic.id,
  })
})

test('a hundred requests for a claim email create only as many links as emails', async () => {
  passLimit()

  for (let n = 0; n < 100; n++) await sendClaimEmail(grid.store, claim, here)

  expect(grid.emails).toHaveLength(2)
  expect(await rows(grid, "SELECT count(*) AS n FROM links WHERE kind = 'claim'")).toEqual([{ n: 2 }])
})
