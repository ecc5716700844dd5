/** Messages to a remote agent become due in the unit in which they become unread. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { requeueMessages } from '../../../src/grid/messaging/parked.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let robot: Awaited<ReturnType<TestGrid['acme']['agent']>>
const run: string[] = []

beforeEach(async () => {
  grid = await testGrid({ inspect: (sql) => void run.push(sql) })
  robot = await grid.acme.agent('robot', { type: 'a2a', remoteUrl: 'https://robot.example/', visibility: 'public' })
  run.length = 0
})
afterEach(() => grid.close())

test('messages and posts to a remote agent, including those from another account, are due', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: '@robot', text: 'a message' })
  await createChannel(grid.acme.store, { name: 'team', members: ['bob', 'robot'] })
  await sendMessage(storeOf(grid, grid.bob), { to: '#team', text: 'a post' })
  await sendMessage(storeOf(grid, grid.eve, grid.evil), { to: '@robot', text: 'from elsewhere' })

  expect(await senders()).toEqual([grid.alice.id, grid.bob.id, grid.eve.id].sort())
})

test('a message to a remote agent is due again when it becomes unread again', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: '@robot', text: 'a message' })
  const { lease } = await readMessages(storeOf(grid, robot), {})
  await forget()
  await leaseOf(storeOf(grid, robot), lease!.id).release()
  expect(await senders()).toEqual([grid.alice.id])

  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(robot.id, 1)])
  await forget()
  await requeueMessages(grid.acme.store, { agent: 'robot' })
  expect(await senders()).toEqual([grid.alice.id])
})

test('a send to an agent on the grid writes nothing about remote agents', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'a message' })

  expect(run.filter((sql) => sql.includes('remote_outboxes'))).toEqual([])
})

async function senders() {
  const found = await rows(grid, 'SELECT sender_id FROM remote_outboxes WHERE account_id = ? AND due_at IS NOT NULL', [
    grid.acme.id,
  ])
  return found.map(({ sender_id }) => sender_id).sort()
}

async function forget() {
  await rows(grid, 'DELETE FROM remote_outboxes WHERE account_id = ?', [grid.acme.id])
}
