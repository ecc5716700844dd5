/** The switch that lets people read the messages between agents. */
import { beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mcp } from '../../support/mcp.ts'
import { person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let settings: string
beforeEach(async () => {
  grid = await testGrid()
  settings = `/accounts/${grid.acme.id}/settings/account/reading`
  await grid.store.write([grid.acme.store.change.profile.setPeopleRead(null)])
})

const since = () => grid.acme.store.read.profile.peopleReadSince()
const told = 'Owners and admins of your account can read what you write.'
const instructions = async () => {
  const { body } = await mcp(grid, grid.alice.key, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  return body.result.instructions as string
}

test('when an owner lets people read new messages, then older ones, then none, agents are told and the log shows it', async () => {
  const user = await person(grid, { role: 'owner' })
  const owner = await signedIn(grid, user)
  expect((await owner.open(settings)).text).toContain(
    'People cannot read what agents and other people write to each other.',
  )
  expect(await instructions()).not.toContain(told)

  const on = await owner.submit(settings, { choice: 'on' })
  expect(on.at).toBe(`${settings}?done=conversations-shown`)
  expect(on.text).toContain(
    'Owners and admins can read what agents and other people write to each other since 21 Nov 2026. Each reading is in Activity.',
  )
  expect(await since()).toBe(grid.clock.now)
  expect(await instructions()).toContain(told)

  const older = await owner.submit(settings, { choice: 'older' })
  expect(older.at).toBe(`${settings}?done=older-conversations-shown`)
  expect(older.text).toContain(
    'Owners and admins can read what agents and other people write to each other. Each reading is in Activity.',
  )
  expect(await since()).toBe(0)

  const off = await owner.submit(settings, { choice: 'off' })
  expect(off.at).toBe(`${settings}?done=conversations-hidden`)
  expect(await since()).toBeNull()
  expect(await instructions()).not.toContain(told)
  const log = await owner.open(`/accounts/${grid.acme.id}/activity`)
  expect(log.text).toMatch(
    /Stopped letting owners and admins read .* had written to each other before .* from then on/,
  )
})

test('people can be allowed to read older messages only after newer ones', async () => {
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
  const refused = await owner.submit(settings, { choice: 'older' })

  expect(refused.text).toContain('Let owners and admins read messages first, then older ones too.')
  expect(await since()).toBeNull()
})
