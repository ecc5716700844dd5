/** A recipient that no longer accepts the sender when the message is stored gets nothing. */
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { changeChannelMembers, createChannel } from '../../../src/grid/channels/channels.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'

let grid: TestGrid
let desk: TestAgent
beforeEach(async () => {
  grid = await testGrid()
  desk = await grid.acme.agent('desk', { visibility: 'public' })
})

const change = (values: Omit<Parameters<typeof updateAgent>[1], 'agent'>) => () =>
  updateAgent(grid.acme.store, { agent: 'desk', ...values })

test.each<[string, () => Promise<unknown>]>([
  ['a block list that names the sender', change({ accessPolicy: 'block_list', accessList: ['eve'] })],
  ['an allow list without the sender', change({ accessPolicy: 'allow_list', accessList: ['alice'] })],
  ['an empty allow list', change({ accessPolicy: 'allow_list', accessList: [] })],
  ['private visibility', change({ visibility: 'private' })],
  ['its deletion', () => deleteAgent(grid.acme.store, 'desk')],
])('a message is refused after a change during its check: %s', async (_, refuse) => {
  await expect(sendWhile(refuse, 'desk')).rejects.toMatchObject({ code: 'recipient_not_found' })

  await expectNothingStored()
})

test.each<[string, () => Promise<unknown>]>([
  ['a block list that names another', change({ accessPolicy: 'block_list', accessList: ['alice'] })],
  ['an allow list with the sender', change({ accessPolicy: 'allow_list', accessList: ['eve'] })],
])('a message is accepted after a change during its check: %s', async (_, allow) => {
  await sendWhile(allow, 'desk')

  expect((await readMessages(storeOf(grid, desk), {})).messages).toMatchObject([{ message: 'hi' }])
})

test.each<[string, () => Promise<unknown>, string]>([
  [
    'whose sender is removed',
    () => changeChannelMembers(grid.evil.store, { channel: 'general', remove: ['eve'] }),
    'not_channel_member',
  ],
  ['that is deleted', () => closeChannel(), 'channel_not_found'],
])('a post to a channel %s during the check is refused', async (_, change, code) => {
  await grid.evil.agent('mallory')
  await createChannel(grid.evil.store, { name: 'general', members: ['eve', 'mallory'] })

  await expect(sendWhile(change, '#general')).rejects.toMatchObject({ code })

  await expectNothingStored()
})

test('a message is not sent if its sender is deleted during the check', async () => {
  await expect(sendWhile(() => deleteAgent(grid.evil.store, 'eve'), 'desk')).rejects.toMatchObject({
    code: 'unavailable',
  })

  await expectNothingStored()
})

/** Deletes only the channel's row, like a process that does not remove the members. */
function closeChannel() {
  return rows(grid, 'UPDATE channels SET deleted_at = 1 WHERE account_id = ?', [grid.evil.id])
}

/** Sends a message as eve, and runs `meanwhile` between resolving its recipient and storing it. */
function sendWhile(meanwhile: () => Promise<unknown>, to: string) {
  const eve = storeOf(grid, grid.eve)
  let isFirst = true
  const write: typeof eve.write = async (statements) => {
    if (isFirst) await meanwhile()
    isFirst = false
    return await eve.write(statements)
  }
  return sendMessage({ ...eve, write }, callingAgent(eve.actor), { to, text: 'hi' })
}

async function expectNothingStored(): Promise<void> {
  for (const { id } of [grid.acme, grid.evil]) {
    for (const table of ['messages', 'deliveries']) {
      expect(await rows(grid, `SELECT * FROM ${table} WHERE account_id = ?`, [id])).toEqual([])
    }
  }
}
