/** The reservations page. See docs/protocol/reservations.md. */
import { expect, test } from 'vitest'
import { reserve } from '../../src/grid/reservations/reserve.ts'
import { storeOf, testGrid } from '../support/grid.ts'
import { signedInWithRole } from '../support/roles.ts'

test("people see an agent's reservations, also on the agent's page, and an owner can end one", async () => {
  const grid = await testGrid()
  const base = `/accounts/${grid.acme.id}`
  const owner = await signedInWithRole(grid, 'owner')
  expect((await owner.open(`${base}/reservations`)).text).toContain('Nothing is reserved')

  const wanted = { names: ['src/**', 'PROJ-1'], note: 'new <b>tokens</b>', space: 'https://git.example/a/b.git' }
  await reserve(storeOf(grid, grid.bob), wanted, { seconds: 0 })
  const page = await owner.open(`${base}/reservations`)
  expect(page.text).toMatch(/src\/\*\* git\.example\/a\/b · new <b>tokens<\/b> @bob .* PROJ-1/)
  expect((await (await signedInWithRole(grid, 'viewer')).open(`${base}/reservations`)).html).not.toContain('/end"')

  const [action] = page.html.match(/\/accounts\/[^"]*\/end(?=")/)!
  const after = await owner.send(page, {}, action)
  expect(after.text).toMatch(/The reservation has ended\..* PROJ-1/)
  expect(after.text).not.toContain('src/**')
  expect((await owner.open(`${base}/agents/bob`)).text).toMatch(/Reservations .* PROJ-1/)
  expect((await owner.open(`${base}/activity`)).text).toMatch(/Ended the reservation of @bob ?: src/)
  expect((await owner.send(page, {}, action)).text).toContain('This reservation has ended.')
})
