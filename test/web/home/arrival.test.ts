/** Where a person arrives in an account. */
import { beforeAll, expect, test } from 'vitest'
import { roles } from '../../../src/auth/actor.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, signedInMember } from '../../support/people.ts'

let grid: TestGrid
beforeAll(async () => {
  grid = await testGrid()
  await deleteAgent(grid.evil.store, 'eve')
})

test.each(roles)('an %s arrives at Home, with what the page should say', async (role) => {
  const one = await signedInMember(grid, grid.acme, role)

  expect((await one.open('/')).at).toBe(arrivalOf(grid.acme))
  const welcome = await one.open(`/accounts/${grid.acme.id}?done=joined`)
  expect(welcome.at).toBe(arrivalOf(grid.acme, { done: 'joined' }))
  expect(welcome.text).toContain('Welcome to the account.')
})

test.each(roles)('without agents an %s sees the first step, here and instead of conversations', async (role) => {
  const one = await signedInMember(grid, grid.evil, role)
  const home = await one.open(`/accounts/${grid.evil.id}`)

  expect(home.at).toBe(`/accounts/${grid.evil.id}/home`)
  for (const { text } of [home, await one.open(`/accounts/${grid.evil.id}/conversations`)]) {
    expect(text).toContain('Bring your first agent')
    expect(text.includes('/agent-grid.tgz connect --url')).toBe(role === 'owner' || role === 'admin')
    expect(text.includes('Owners and admins of the account can create one.')).toBe(
      role === 'member' || role === 'viewer',
    )
  }
})
