/** Messages that programs release repeatedly. See docs/delivery.md, "Parked messages". */
import { beforeEach, expect, test } from 'vitest'
import { parkedMessages } from '../../../src/grid/messaging/parked.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { second } from '../../../src/lib/time.ts'
import { listParkedMessagesCommand, requeueMessagesCommand } from '../../../src/cli/agents.ts'
import { onEachDatabase, type OpenGrid } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { lease, post, release } from '../../support/inbox.ts'
import { callTool } from '../../support/mcp.ts'

let grid: TestGrid
const send = async (message: string) =>
  (await post(grid, grid.alice.key, { to: '@bob', message })).body.message_id as string
const status = async (message_id: string) =>
  (await callTool(grid, grid.alice.key, 'message_status', { message_id })).text

/** Leases messages, and lets the lease expire or releases it. Resolves to the leased messages. */
async function comesBack(how: 'expires' | 'is released') {
  const { body } = await lease(grid, grid.bob.key, { seconds: 30 })
  if (how === 'is released') await release(grid, grid.bob.key, body.lease_id)
  else grid.clock.now += 30 * second
  return body.messages
}

onEachDatabase((openGrid: OpenGrid) => {
  beforeEach(async () => {
    grid = await openGrid()
  })

  test.each(['expires', 'is released'] as const)(
    'a message whose lease %s five times is parked, its sender is notified, and admins see it listed',
    async (how) => {
      const poison = await send('poison')
      for (let n = 0; n < 5; n++) expect(await comesBack(how)).toMatchObject([{ message: 'poison' }])
      await send('fine')

      expect((await lease(grid, grid.bob.key)).body.messages).toMatchObject([{ message: 'fine' }])
      expect(await status(poison)).toMatchObject({ delivery: 'failed', read_by: [] })
      expect((await status(poison)).timeline.at(-1)).toMatchObject({ alias: '@bob', event: 'parked' })
      expect(await parkedMessages(grid.acme.store)).toMatchObject([
        { id: poison, alias: 'bob', fromAlias: 'alice', returns: 5 },
      ])
      const listed = await listParkedMessagesCommand.run(grid.store, { account: grid.acme.id })
      expect(listed.messages).toMatchObject([{ message_id: poison, to: '@bob', from: '@alice', returns: 5 }])
      expect(listParkedMessagesCommand.print(listed)).toContain(poison)
    },
  )

  test('a read whose response the client did not receive never parks a message', async () => {
    await send('hi')
    for (let n = 0; n < 4; n++) await comesBack('is released')
    const { lease: read } = await readMessages(storeOf(grid, grid.bob), {})
    await read!.release()

    expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toMatchObject([{ message: 'hi' }])
  })

  test('a requeued message is unread, marked and logged, and can be released five more times', async () => {
    const id = await send('poison')
    const other = await send('other')
    for (let n = 0; n < 5; n++) await comesBack('is released')
    const run = (args: object) =>
      requeueMessagesCommand.run(grid.store, { account: grid.acme.id, agent: '@bob', ...args } as never)

    expect(await run({ message: id })).toEqual({ agent: '@bob', requeued: 1, left: 1 })
    await expect(run({ message: id })).rejects.toMatchObject({ code: 'message_not_found' })
    expect(requeueMessagesCommand.print(await run({}))).toBe('@bob has 1 message to read again.')
    expect(await run({})).toEqual({ agent: '@bob', requeued: 0, left: 0 })
    for (let n = 0; n < 5; n++) {
      expect(await comesBack('is released')).toMatchObject([
        { message_id: id, redelivered: true },
        { message_id: other, redelivered: true },
      ])
    }
    expect((await lease(grid, grid.bob.key)).body.lease_id).toBeNull()
    const log = await grid.acme.store.read.activity.list()
    expect(log.map(({ tool, outcome }) => `${tool} ${outcome}`)).toContain('requeue-messages ok')
  })
})
