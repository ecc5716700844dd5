/** The count of an inbox's unread messages, which triggers maintain. */
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { day } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => void (grid = await open()))

  test('the unread count equals the number of unread rows after every change', async () => {
    const { store } = grid.acme
    const { inbox, leases, parked } = store.change
    await createChannel(store, { name: 'general', members: ['alice', 'bob'] })
    for (let n = 0; n < 5; n++) await sendMessage(as(grid.alice), { to: 'bob', text: 'hi' })
    await sendMessage(as(grid.alice), { to: '#general', text: 'hi' })
    expect(await counts()).toEqual([0, 6])

    const { lease, messages } = await readMessages(as(grid.bob), { limit: 3 })
    expect(await counts()).toEqual([0, 3])
    await leaseOf(as(grid.bob), lease!.id).release()
    expect(await counts()).toEqual([0, 6])
    const [first, second] = messages.map((message) => message.message_id)
    await store.write(inbox.markRead(grid.bob.id, [first, second], 1))
    await store.write([...inbox.markRead(grid.bob.id, [first], 2), inbox.markUnread(grid.bob.id, [second])])
    expect(await counts()).toEqual([0, 5])

    await expect(store.write([leases.parkUnread(grid.bob.id, 1), store.change.agents.requireAtMost(1)])).rejects
      .toMatchObject({ code: 'write_conflict' })
    expect(await counts()).toEqual([0, 5])
    await store.write([leases.parkUnread(grid.bob.id, 1)])
    expect(await counts()).toEqual([0, 0])
    await store.write(parked.requeue(grid.bob.id, null))
    expect(await counts()).toEqual([0, 5])

    await sendMessage(as(grid.bob), { to: 'alice', text: 'hi' })
    await deleteAgent(store, 'bob')
    // The second message reports that @bob was deleted.
    expect(await counts()).toEqual([2, 0])
    grid.clock.now += 91 * day
    await sweep(grid.store)
    expect(await counts()).toEqual([0, 0])
  })

  test('sends and reads report at most 100 unread messages', async () => {
    await grid.store.write([{
      sql: 'UPDATE agent_numbers SET unread = 5000 WHERE account_id = ? AND agent_id = ?',
      args: [grid.acme.id, grid.alice.id],
    }])
    await sendMessage(as(grid.bob), { to: 'alice', text: 'hi' })

    expect((await sendMessage(as(grid.alice), { to: 'bob', text: 'hi' })).unread).toBe(100)
    expect((await callTool(grid, grid.alice.key, 'read_messages', { limit: 1 })).more).toMatchObject({ unread: 100 })
    const initialized = await mcp(grid, grid.alice.key, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    expect(initialized.body.result.instructions).toContain('You have 100 or more unread messages.')
  })
})

/** Returns the unread counts of alice and bob, after checking that each equals the number of unread rows. */
async function counts(): Promise<number[]> {
  const found = await rows(
    grid,
    `SELECT agent_id, unread, (SELECT count(*) FROM deliveries
        WHERE deliveries.account_id = ? AND deliveries.inbox = agent_numbers.n AND state = 'unread') AS counted
      FROM agent_numbers WHERE agent_numbers.account_id = ?`,
    [grid.acme.id, grid.acme.id],
  )
  for (const { unread, counted } of found) expect(unread).toBe(counted)
  return [grid.alice, grid.bob].map(({ id }) => Number(found.find((row) => row.agent_id === id)!.unread))
}

const as = (agent: TestAgent) => storeOf(grid, agent)
