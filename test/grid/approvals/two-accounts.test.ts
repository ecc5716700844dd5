/** Messages that people of two accounts may have to approve. docs/protocol/messages.md, "Held messages". */
import { beforeEach, expect, test } from 'vitest'
import { heldMessages } from '../../../src/grid/approvals/held.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { approveOne, hold, refuseOne } from '../../support/held.ts'
import { callTool } from '../../support/mcp.ts'
import { personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let desk: TestAgent
let ann: AccountStore
let ed: AccountStore

const tool = async (agent: TestAgent, name: string, input: object = {}) =>
  (await callTool(grid, agent.key, name, { ...input })).text
const read = (agent: TestAgent) => tool(agent, 'read_messages')
const send = () => tool(grid.alice, 'send_message', { to: '@desk', message: 'an offer' })

beforeEach(async () => {
  grid = await testGrid()
  desk = await grid.evil.agent('desk', { visibility: 'public', accessPolicy: 'auto_approve' })
  ann = (await personWithAlias(grid, 'ann', { role: 'owner', name: 'Ann' })).account
  ed = (await personWithAlias(grid, 'edd', { role: 'owner', name: 'Ed', account: grid.evil })).account
})

test("on a message between accounts, the sender's account decides first, then the recipient's", async () => {
  await hold(grid.acme.store)
  await hold(grid.evil.store, { fromKind: 'external' })
  const { message_id } = await send()
  expect(await heldMessages(ed)).toEqual([])

  expect(await approveOne(ann)).toEqual({ state: 'held' })
  expect(await read(desk)).toEqual([])
  expect(await tool(grid.alice, 'message_status', { message_id })).toMatchObject({ delivery: 'held' })
  expect(await heldMessages(ann)).toEqual([])

  expect(await approveOne(ed)).toEqual({ state: 'approved' })
  expect(await read(desk)).toMatchObject([{ message: 'an offer', external: true }])
})

test("a rule of the recipient's account holds a message, and the sender cannot see who decides or who refused", async () => {
  await hold(grid.evil.store, { fromKind: 'external' })
  const sent = await send()
  expect(sent.held.by).toEqual([])
  await refuseOne(ed, 'No offers')

  const told = JSON.stringify([
    await read(grid.alice),
    await tool(grid.alice, 'message_status', { message_id: sent.message_id }),
  ])
  expect(told).toContain('No offers')
  expect(told).not.toMatch(/@edd|Ed\b/)
  expect(await read(desk)).toEqual([])
})
