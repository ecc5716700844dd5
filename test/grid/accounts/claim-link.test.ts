/** The link that proves a claim's mailbox signs its person in, so it ends as all of their links do (O12, A1). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mailClaim, useProof } from '../../../src/grid/accounts/claim-link.ts'
import { askForLink, resetPassword } from '../../../src/grid/people/email-links.ts'
import { askForNewEmail, changePassword, takeNewEmail } from '../../../src/grid/people/own-profile.ts'
import { signUp } from '../../../src/grid/accounts/signup.ts'
import { minute } from '../../../src/lib/time.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mailedPath, password, type Person, person } from '../../support/people.ts'

const next = 'a new horse battery'
const [here, there] = ['203.0.113.20', '203.0.113.21']

let grid: TestGrid
let vic: Person
let claim: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  vic = await person(grid, { email: 'vic@people.example' })
  const { trial } = await signUp(grid.store, { ownerEmail: vic.email, alias: 'vics-bot' }, there)
  claim = trial.claim_url.split('/').at(-1)!
  await expect.poll(() => grid.mails.length).toBe(1)
})
afterEach(() => grid.close())

const mailedToken = () => mailedPath(grid).split('/').at(-1)!
/** Past the limit of mails to one address. */
const later = () => grid.clock.now += 6 * minute

async function reset() {
  await askForLink(grid.store, 'reset', { email: vic.email }, here)
  await resetPassword(grid.store, mailedToken(), next, null)
}

async function change() {
  await changePassword(grid.store, vic.id, { current: password, password: next }, here)
}

async function move() {
  await askForNewEmail(grid.store, vic.id, { email: 'victor@people.example', current: password }, here)
  await takeNewEmail(grid.store, mailedToken(), vic.id)
}

test.each([
  ['a new password by link', reset],
  ['a new password', change],
  ['a new address', move],
])('%s ends it', async (_, act) => {
  const proof = mailedToken()
  later()

  await act()

  await expect(useProof(grid.store, proof, { name: 'Vic', password: '' })).rejects.toMatchObject({
    code: 'link_expired',
  })
})

test('somebody else’s new password does not', async () => {
  const proof = mailedToken()
  const bob = await person(grid)

  await changePassword(grid.store, bob.id, { current: password, password: next }, here)

  expect(await useProof(grid.store, proof, { name: '', password: '' })).toBe(vic.id)
})

test('asked for a hundred times, it is made as often as it is mailed', async () => {
  later()

  for (let n = 0; n < 100; n++) await mailClaim(grid.store, claim, here)

  expect(grid.mails).toHaveLength(2)
  expect(await rows(grid, "SELECT count(*) AS n FROM links WHERE kind = 'claim'")).toEqual([{ n: 2 }])
})
