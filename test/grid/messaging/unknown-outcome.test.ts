/** Hand-outs of which the database did not say whether it made them (reliability 4, 2.2.3). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bearer } from '../../../src/auth/bearer.ts'
import { type Batch, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { minute } from '../../../src/lib/time.ts'
import { connect } from '../../../src/store/driver/local-client.ts'
import { OpenReads } from '../../../src/worker/leases.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'

const isClaim = (statements: unknown[]) =>
  statements.some((statement) =>
    /^update "deliveries" set "state" = .* IN \(select/i.test((statement as { sql: string }).sql)
  )

let server: Sqld
let grid: TestGrid
/** What becomes of the next groups of the write queue that claim mail. */
let fates: ('commits, and the answer gets lost' | 'gets lost, and commits later')[]
/** Carries out what is to commit later. */
let late: () => Promise<unknown>
beforeEach(async () => {
  server = await startSqld()
  fates = []
  grid = await testGrid({
    url: server.url,
    connect(config) {
      const client = connect(config)
      const batch = client.batch.bind(client)
      client.batch = async (...group) => {
        const fate = isClaim(group[0]) ? fates.shift() : undefined
        if (fate === undefined) return await batch(...group)
        if (fate === 'gets lost, and commits later') late = () => batch(...group)
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

test('a read whose claim was committed without an answer is refused, and its mail comes again, flagged', async () => {
  await send('hi')
  fates = ['commits, and the answer gets lost', 'commits, and the answer gets lost']

  const refused = await callTool(grid, grid.bob.key, 'read_messages')
  const again = await callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 10 })
  const rest = await callTool(grid, grid.bob.key, 'read_messages')

  expect(refused.code).toBe('unavailable')
  expect(again.text).toMatchObject([{ message: 'hi', redelivered: true }])
  expect(rest.text).toEqual([])
})

test('a claim that the database carries out long after it was refused is given back after 5 minutes', async () => {
  const bob = await bearer(grid.store)(`Bearer ${grid.bob.key}`)
  await send('hi')
  fates = ['gets lost, and commits later', 'gets lost, and commits later']
  await expect(readMessages(bob, {})).rejects.toMatchObject({ code: 'unavailable' })
  await send('behind what was to be written later')
  await late()
  const watch = new OpenReads(grid.store)

  grid.clock.now += 5 * minute - 1
  await watch.beat()
  const early = await readMessages(bob, {})
  grid.clock.now += 1
  await watch.beat()
  const again = await readMessages(bob, {})

  // It took what waited when it was asked for, and nothing of later.
  const shown = ({ messages }: Batch) => messages.map(({ message, redelivered }) => [message, redelivered])
  expect(shown(early)).toEqual([['behind what was to be written later', undefined]])
  expect(shown(again)).toEqual([['hi', true]])
})

async function send(text: string) {
  return await sendMessage(await bearer(grid.store)(`Bearer ${grid.alice.key}`), { to: 'bob', text })
}
