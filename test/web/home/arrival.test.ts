/** The first page that a person sees in an account. */
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { roles } from '../../../src/auth/actor.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { day } from '../../../src/lib/time.ts'
import { firstSteps } from '../../../src/web/home/first-steps.tsx'
import { followLog } from '../../../src/worker/followers.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { arrivalOf, signedInByEmail, signedInMember } from '../../support/people.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid
beforeAll(async () => {
  grid = await testGrid()
  await deleteAgent(grid.evil.store, 'eve')
})

test.each(roles)('an %s arrives at Home, and is welcomed after joining', async (role) => {
  const one = await signedInMember(grid, grid.acme, role)

  expect((await one.open('/')).at).toBe(arrivalOf(grid.acme))
  const welcome = await one.open(`/accounts/${grid.acme.id}?done=joined`)
  expect(welcome.at).toBe(arrivalOf(grid.acme, { done: 'joined' }))
  expect(welcome.text).toContain('Welcome to the account.')
})

test.each(roles)('without agents, an %s sees the first steps on Home and in place of conversations', async (role) => {
  const one = await signedInMember(grid, grid.evil, role)
  const home = await one.open(`/accounts/${grid.evil.id}`)

  expect(home.at).toBe(`/accounts/${grid.evil.id}/home`)
  for (const { text } of [home, await one.open(`/accounts/${grid.evil.id}/conversations`)]) {
    for (const step of firstSteps) expect(text).toContain(step)
    expect(text).not.toMatch(/ done |Figures/)
    expect(text.includes('/agent-grid.tgz connect --url')).toBe(role === 'owner' || role === 'admin')
    expect(text.includes('Owners and admins of the account can create an agent')).toBe(
      role === 'member' || role === 'viewer',
    )
  }
})

test('each step that connects an agent is done once that agent has called, and the first message ends the steps permanently', async () => {
  const grid = await testGrid()
  const owner = await signedInByEmail(grid, 'ann@acme.example')
  const home = async () => (await owner.open(arrivalOf(grid.acme))).text
  expect(await home()).toMatch(
    /Connect a client No client has called.*tgz connect.*second agent .*first message Say to one/,
  )

  await callTool(grid, grid.bob.key, 'read_messages', {})
  await waitFor('the first step', async () => (await home()).includes('Connect a client done'))
  expect(await home()).toMatch(/Connect a client done Connect a second agent Use the same line.*tgz connect/)

  await callTool(grid, grid.alice.key, 'read_messages', {})
  await waitFor('the second step', async () => (await home()).includes('Connect a second agent done'))
  const twoDone = await home()
  expect(twoDone).toMatch(/Connect a second agent done Send a first message Say to @alice ?: “Ask @bob /)
  expect(twoDone).not.toMatch(/tgz connect|Figures/)

  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hello' })
  await followLog(grid.store)
  expect(await home()).not.toContain('Connect a client')
  for (const alias of ['alice', 'bob']) await deleteAgent(grid.acme.store, alias)
  expect(await home()).toMatch(/^(?!.*Connect a client).*Figures/s)
})

test('the first steps do not return after retention has removed all messages', async () => {
  const grid = await testGrid()
  for (const { key } of [grid.alice, grid.bob]) await callTool(grid, key, 'read_messages', {})
  const counts = () => grid.acme.store.read.overview.agents(0)
  await waitFor('two connected agents', async () => (await counts()).connected === 2)
  grid.clock.now += 8 * day
  const owner = await signedInByEmail(grid, 'ann@acme.example')

  expect((await owner.open(arrivalOf(grid.acme))).text).toMatch(/^(?!.*Connect a client).*Figures/s)
})

test('the start page of the documentation has the same first steps', () => {
  const steps = readFileSync('docs/start.md', 'utf8').match(/(?<=^## \d\. ).+/gm)

  expect(steps).toEqual([...firstSteps])
})
