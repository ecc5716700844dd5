/** Transferring the ownership of an account requires a deliberate choice. */
import { beforeEach, expect, test } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import type { Browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { password, type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let owner: Person
let other: Person
let one: Browser
let team: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  owner = await person(grid, { role: 'owner' })
  other = await person(grid, { role: 'admin', name: 'Bea' })
  one = await signedIn(grid, owner)
  team = `/accounts/${grid.acme.id}/settings/team`
})

const roleOf = async ({ id }: Person) => (await grid.acme.store.read.team.member(id))?.role
const handOver = (fields: Record<string, string>) => one.submit(`${team}/hand-over`, fields)

test.each([
  ['without a member', { member: '', confirmation: 'Acme' }, 'Choose the member.'],
  ['without the name of the account', {}, 'Type Acme, exactly as it is written here.'],
  ['with another name', { confirmation: 'acme' }, 'Type Acme, exactly as it is written here.'],
])('a transfer of ownership is refused %s, and the input is kept', async (_, fields, reason) => {
  const page = await handOver({ member: other.id, ...fields })

  expect(page.status).toBe(400)
  expect(page.text).toContain(reason)
  const entered: Record<string, string> = { member: other.id, ...fields }
  if (entered.member) expect(page.html).toContain(`<option value="${other.id}" selected`)
  if (entered.confirmation) expect(page.html).toContain(`value="${entered.confirmation}"`)
  expect([await roleOf(owner), await roleOf(other)]).toEqual(['owner', 'admin'])
})

test('a transfer that names the member and the account makes the member the owner', async () => {
  const page = await handOver({ member: other.id, confirmation: ' Acme ' })

  expect(page.text).toContain('Ownership has been transferred')
  expect([await roleOf(owner), await roleOf(other)]).toEqual(['admin', 'owner'])
})

test('the form for a transfer is shown only after a confirmation of identity', async () => {
  grid.clock.now += 10 * minute
  const asked = await one.open(`${team}/hand-over`)
  expect(asked.at).toBe(`/confirm?next=${encodeURIComponent(`${team}/hand-over`)}`)
  expect((await one.send(asked, { password }, '/confirm')).at).toBe(`${team}/hand-over`)
})
