/** Sends and acks over REST. See docs/delivery.md, "Leases of runners". */
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { minute } from '../../src/lib/time.ts'
import { dump, rows } from '../support/database.ts'
import { onEachDatabase, type OpenGrid } from '../support/databases.ts'
import type { TestGrid } from '../support/grid.ts'
import { ack, lease, post } from '../support/inbox.ts'
import { callTool } from '../support/mcp.ts'
import { tripwire } from '../support/tripwire.ts'

let grid: TestGrid
const send = async (message: string) => {
  const { body } = await post(grid, grid.alice.key, { to: '@bob', message })
  return body.message_id as string
}
const leased = async () => (await lease(grid, grid.bob.key)).body.lease_id as string
const leases = () => rows(grid, 'SELECT id FROM leases WHERE account_id = ?', [grid.acme.id])
const stored = () => rows(grid, 'SELECT id FROM messages WHERE account_id = ?', [grid.acme.id])

onEachDatabase((openGrid: OpenGrid) => {
  beforeEach(async () => {
    grid = await openGrid()
  })

  test('a send over REST returns the same as send_message', async () => {
    const overRest = await post(grid, grid.alice.key, { to: '@bob', message: 'hi' })
    const overMcp = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hi' })

    expect(overRest.status).toBe(201)
    expect(Object.keys(overRest.body)).toEqual(Object.keys(overMcp.text))
    expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toMatchObject([
      { message_id: overRest.body.message_id, message: 'hi', user: '@alice' },
      { message_id: overMcp.text.message_id },
    ])
  })

  test('an idempotency key sends once, even if it is repeated over MCP, and other content is refused', async () => {
    const first = await post(grid, grid.alice.key, { to: '@bob', message: 'hi' }, 'k')
    const again = await post(grid, grid.alice.key, { to: '@bob', message: 'hi' }, 'k')
    const overMcp = await callTool(grid, grid.alice.key, 'send_message', {
      ...{ to: '@bob', message: 'hi', idempotency_key: 'k' },
    })
    const other = await post(grid, grid.alice.key, { to: '@bob', message: 'ho' }, 'k')

    expect(again.body).toEqual(first.body)
    expect(overMcp.text.message_id).toBe(first.body.message_id)
    expect([other.status, other.body.error.code]).toEqual([409, 'idempotency_conflict'])
    expect(await stored()).toHaveLength(1)
  })

  test('an answer acks its lease in the same unit, and with a stale lease it stores nothing', async () => {
    const question = await send('question')
    const id = await leased()
    const answer = { to: '@alice', message: 'answer', reply_to_message_id: question, acks: { lease_id: id } }

    const sent = await post(grid, grid.bob.key, answer)
    const stale = await post(grid, grid.bob.key, answer)

    expect(sent.status).toBe(201)
    expect([stale.status, stale.body.error.code]).toEqual([409, 'stale_lease'])
    expect(await leases()).toEqual([])
    expect(await stored()).toHaveLength(2)
    grid.clock.now += 60 * minute
    expect((await lease(grid, grid.bob.key)).body.lease_id).toBeNull()
  })

  test("an answer can ack some of a lease's messages, and is refused if it names a message outside the lease", async () => {
    const ids = [await send('one'), await send('two')]
    const id = await leased()
    const answer = (...message_ids: string[]) =>
      post(grid, grid.bob.key, { to: '@alice', message: 'done', acks: { lease_id: id, message_ids } })

    expect((await answer(ids[0], grid.bob.id)).body.error.code).toBe('stale_lease')
    expect((await answer(ids[0])).status).toBe(201)
    expect((await answer(ids[0])).body.error.code).toBe('stale_lease')
    expect(await stored()).toHaveLength(3)
    expect((await ack(grid, grid.bob.key, id)).body).toEqual({ acked: 1 })
  })

  test('a refused answer does not change the lease', async () => {
    await send('question')
    const id = await leased()
    const before = await dump(grid, grid.acme)
    const refused = [
      await post(grid, grid.bob.key, { to: '@nobody', message: 'x', acks: { lease_id: id } }),
      await post(grid, grid.bob.key, { to: '@bob', message: 'x', acks: { lease_id: id } }),
      await post(grid, grid.bob.key, { to: '@alice', message: '', acks: { lease_id: id } }),
    ]

    expect(refused.map(({ status }) => status)).toEqual([404, 400, 400])
    expect(await dump(grid, grid.acme)).toBe(before)
    expect((await ack(grid, grid.bob.key, id)).body).toEqual({ acked: 1 })
  })

  test('a repeated answer acks the lease that it names, even if the first send named none, and a further repeat changes nothing', async () => {
    await send('question')
    const id = await leased()
    const answer = { to: '@alice', message: 'answer' }
    const first = await post(grid, grid.bob.key, answer, 'k')
    const acking = await post(grid, grid.bob.key, { ...answer, acks: { lease_id: id } }, 'k')
    const again = await post(grid, grid.bob.key, { ...answer, acks: { lease_id: id } }, 'k')

    expect([acking.body, again.body]).toEqual([first.body, first.body])
    expect(await leases()).toEqual([])
  })

  test('of many simultaneous answers to one lease, one is stored', async () => {
    await send('question')
    const id = await leased()
    const answers = await Promise.all(
      Array.from(
        { length: 12 },
        (_, n) => post(grid, grid.bob.key, { to: '@alice', message: `answer ${n}`, acks: { lease_id: id } }),
      ),
    )

    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(409)])
    expect(await stored()).toHaveLength(2)
  })

  test("an ack committed between an answer's reads and its commit takes precedence: the answer stores and acks nothing", async () => {
    let meddle: (() => Promise<unknown>) | undefined
    await grid.close()
    grid = await openGrid({
      inspect(sql, crossAccountQuery) {
        tripwire(sql, crossAccountQuery)
        // The inspection runs before the unit waits for its commit, so this ack is committed first.
        if (meddle && /^INSERT INTO messages\b/.test(sql)) {
          const act = meddle
          meddle = undefined
          void act()
        }
      },
    })
    await send('question')
    const id = await leased()
    meddle = () => ack(grid, grid.bob.key, id)
    const first = post(grid, grid.bob.key, { to: '@alice', message: 'answer', acks: { lease_id: id } })
    const { body } = await first
    const isSent = body.message_id !== undefined

    expect(isSent || body.error.code === 'stale_lease').toBe(true)
    expect(await stored()).toHaveLength(isSent ? 2 : 1)
    expect(await leases()).toEqual([])

    await send('again')
    const next = await leased()
    await deleteAgent(grid.acme.store, 'alice')
    const refused = await post(grid, grid.bob.key, { to: '@alice', message: 'x', acks: { lease_id: next } })
    expect(refused.body.error.code).toBe('recipient_not_found')
    expect((await ack(grid, grid.bob.key, next)).body).toEqual({ acked: 1 })
  })
})
