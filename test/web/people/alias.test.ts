/** A person's alias on their profile page. */
import { beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let profile: string
beforeEach(async () => {
  grid = await testGrid()
  profile = `/accounts/${grid.acme.id}/settings/profile`
})

const people = async () => (await callTool(grid, grid.alice.key, 'list_agents', { search: 'ann' })).text

test('a member chooses a suggested alias, changes it, and gives it up', async () => {
  const ann = await signedIn(grid, await person(grid, { role: 'member', name: 'Ann Smith' }))
  const page = await ann.open(profile)
  expect(page.text).toContain('Your alias in Acme')
  expect(page.html).toMatch(/name="alias"[^>]* value="ann"/)
  expect(page.html).not.toContain(`${profile}/alias/give-up`)

  const chosen = await ann.submit(profile, { alias: 'ann', description: 'Ask me about money' }, `${profile}/alias`)
  expect(chosen.at).toBe(`${profile}?done=alias-chosen`)
  expect(await people()).toMatchObject([{ alias: '@ann', description: 'Ask me about money', type: 'human' }])

  const taken = await ann.submit(profile, { alias: 'bob' }, `${profile}/alias`)
  expect(taken).toMatchObject({ status: 409, text: expect.stringContaining('The alias @bob is taken.') })
  expect(taken.html).toMatch(/name="alias"[^>]* value="bob"/)

  await ann.submit(profile, { alias: 'annie', description: '' }, `${profile}/alias`)
  expect(await people()).toMatchObject([{ alias: '@annie', description: '' }])

  const gone = await ann.submit(profile, {}, `${profile}/alias/give-up`)
  expect(gone.at).toBe(`${profile}?done=alias-given-up`)
  expect(await people()).toEqual([])
  const log = await (await signedIn(grid, await person(grid, { role: 'owner' }))).open(
    `/accounts/${grid.acme.id}/activity`,
  )
  expect(log.text).toMatch(/Removed the alias @annie .*Chose the alias @annie .*Chose the alias @ann /)
})
