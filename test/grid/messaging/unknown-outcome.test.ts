/** Reads whose commit got no response from the database. See docs/delivery.md, "Reading". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { minute } from '../../../src/lib/time.ts'
import { connect } from '../../../src/store/driver/remote-client.ts'
import { LeaseRecovery } from '../../../src/worker/leases.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { post } from '../../support/inbox.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'

const isClaim = (statements: unknown[]) =>
  statements.some((statement) =>
    /^UPDATE deliveries SET state = 'read', lease_id = /.test((statement as { sql: string }).sql)
  )

let server: Sqld
let grid: TestGrid
/** What happens to the write queue's next commits that lease messages. */
let outcomes: ('commits, and the answer gets lost' | 'gets lost, and commits later')[]
/** Executes the delayed commits. */
let late: () => Promise<unknown>
beforeEach(async () => {
  server = await startSqld()
  outcomes = []
  grid = await testGrid({
    url: server.url,
    connect(config) {
      const client = connect(config)
      const batch = client.batch.bind(client)
      client.batch = async (...group) => {
        const outcome = isClaim(group[0]) ? outcomes.shift() : undefined
        if (outcome === undefined) return await batch(...group)
        if (outcome === 'gets lost, and commits later') late = () => batch(...group)
        else await batch(...group)
        throw new TypeError('fetch failed')
      }
      return client
    },
  })
})
afterEach(async () => {
  await grid.close()
  await server.stop()
})

test('a read whose claim got no response is refused, and its messages are redelivered with a mark', async () => {
  await send('hi')
  outcomes = ['commits, and the answer gets lost', 'commits, and the answer gets lost']

  const refused = await callTool(grid, grid.bob.key, 'read_messages')
  const again = await callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 10 })
  const rest = await callTool(grid, grid.bob.key, 'read_messages')

  expect(refused.code).toBe('unavailable')
  expect(again.text).toMatchObject([{ message: 'hi', redelivered: true }])
  expect(rest.text).toEqual([])
})

test('a claim that the database executes long after its refusal leases nothing', async () => {
  const bob = await createAuthenticator(grid.store)(`Bearer ${grid.bob.key}`)
  await send('hi')
  outcomes = ['gets lost, and commits later', 'gets lost, and commits later']
  await expect(readMessages(bob, {})).rejects.toMatchObject({ code: 'unavailable' })
  await send('sent after the read')
  await late()
  const read = await readMessages(bob, {})
  const recovery = new LeaseRecovery(grid.store)
  const leases = async () => (await rows(grid, 'SELECT id FROM leases WHERE account_id = ?', [grid.acme.id])).length
  await read.lease!.release()
  const marked = await leases()
  grid.clock.now += 5 * minute
  await recovery.heartbeat()

  expect(read.messages.map(({ message, redelivered }) => [message, redelivered])).toEqual([
    ['hi', undefined],
    ['sent after the read', undefined],
  ])
  // The recovery removes the marker that prevented the late claim from leasing.
  expect([marked, await leases()]).toEqual([1, 0])
})

test.each([undefined, 'k'])(
  'after a send with next whose commit got no response, the messages are released, or leased to a retry with the key %s',
  async (key) => {
    await send('hi')
    const answer = () => post(grid, grid.bob.key, { to: '@alice', message: 'answer', next: {} }, key)
    outcomes = ['commits, and the answer gets lost', 'commits, and the answer gets lost']
    expect((await answer()).status).toBe(503)
    // Waits for the release of the messages, because this commit comes after it.
    await send('later')
    const { messages } = key === undefined
      ? { messages: (await callTool(grid, grid.bob.key, 'read_messages')).text }
      : (await answer()).body.next

    expect(messages.map(({ message, redelivered }: Record<string, unknown>) => [message, redelivered]))
      .toEqual(key === undefined ? [['hi', true], ['later', undefined]] : [['hi', undefined]])
  },
)

async function send(text: string) {
  return await sendMessage(await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`), { to: 'bob', text })
}
