/** Sends and reads take as long as ever, however many messages their agent has not read. */
import { afterEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'

const unread = 50_000
const calls = 100

let grid: TestGrid
afterEach(() => grid.close())

test('50,000 unread messages are counted up to 100, and slow down neither sends nor reads', async () => {
  grid = await testGrid()
  const writer = await grid.acme.agent('writer')
  await fillInbox(grid.alice, writer)
  const [slow, quick] = [await opened(grid.alice), await opened(writer)]

  // Interleaved, so that a busy machine slows down both.
  const times: [number, number][] = []
  for (let n = 0; n < 5; n++) times.push([await timeOf(slow), await timeOf(quick)])
  const median = (which: 0 | 1) => times.map((pair) => pair[which]).sort((a, b) => a - b)[2]
  console.log(`${calls} sends and reads: ${median(0).toFixed(0)} ms with a full inbox, ${median(1).toFixed(0)} ms else`)
  expect(median(0)).toBeLessThan(2 * median(1) + 50)

  expect((await sendMessage(slow, { to: 'bob', text: 'hi' })).unread).toBe(100)
  expect((await readMessages(slow, { limit: 1 })).remaining).toBe(100)
  const initialized = await mcp(grid, grid.alice.key, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  expect(initialized.body.result.instructions).toContain('You have 100 or more unread messages.')
  expect((await callTool(grid, grid.alice.key, 'read_messages', { limit: 1 })).more).toMatchObject({ unread: 100 })
})

function opened({ key }: TestAgent) {
  return createAuthenticator(grid.store)(`Bearer ${key}`)
}

/** The time of sends and reads by an agent, in ms. The reader always finds a message. */
async function timeOf(account: Awaited<ReturnType<typeof opened>>): Promise<number> {
  const startedAt = performance.now()
  for (let n = 0; n < calls / 2; n++) {
    await Promise.all([sendMessage(account, { to: 'bob', text: 'hi' }), readMessages(account, { limit: 1 })])
  }
  return performance.now() - startedAt
}

async function fillInbox(reader: TestAgent, writer: TestAgent): Promise<void> {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${unread - 1})`
  const args = [grid.acme.id, writer.id]
  await grid.store.write([
    {
      sql: `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at)
        ${numbers} SELECT ?, 'message ' || i, ?, 'writer', 'agent', '#all', 'hi', i FROM n`,
      args,
      rows: 0,
    },
    {
      sql:
        `INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, inbox)
        SELECT messages.account_id, agent_id, messages.account_id, id, 'unread', 2, created_at, n
        FROM messages JOIN agent_numbers
          ON agent_numbers.account_id = messages.account_id AND agent_id = ? WHERE messages.account_id = ?`,
      args: [reader.id, grid.acme.id],
      rows: 0,
    },
  ])
}
