/** Lease abuse by other accounts and greedy agents. See docs/delivery.md, "Leases of runners". */
import { beforeEach, expect, test } from 'vitest'
import { minute, second } from '../../src/lib/time.ts'
import { dump } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { ack, callInbox, extend, lease, peek, post, release } from '../support/inbox.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const send = async (message: string) =>
  (await post(grid, grid.alice.key, { to: '@bob', message })).body.message_id as string

test('an agent can have 100 open leases, and another one when one of them ends', async () => {
  for (let n = 0; n <= 100; n++) await send(`message ${n}`)
  const ids: string[] = []
  for (let n = 0; n < 100; n++) ids.push((await lease(grid, grid.bob.key, { limit: 1, seconds: 600 })).body.lease_id)
  expect(new Set(ids).size).toBe(100)

  const before = await dump(grid, grid.acme)
  const refused = await lease(grid, grid.bob.key, { limit: 1 })
  expect([refused.status, refused.body.error.code]).toEqual([409, 'lease_limit_reached'])
  expect(await dump(grid, grid.acme)).toBe(before)
  expect((await lease(grid, grid.alice.key)).status).toBe(200)

  const answer = { to: '@alice', message: 'answer', next: {} }
  const sent = await post(grid, grid.bob.key, answer)
  expect([sent.status, sent.body.next.error.code]).toEqual([201, 'lease_limit_reached'])
  const { body } = await post(grid, grid.bob.key, { ...answer, acks: { lease_id: ids[0] } })
  expect(body.next.messages).toMatchObject([{ message: 'message 100' }])
  // Expired leases do not count as open.
  grid.clock.now += 10 * minute
  expect((await lease(grid, grid.bob.key)).body.messages).toHaveLength(50)
})

test("another agent's or account's lease looks like an ended one, and stays unchanged", async () => {
  const id = await send('for bob')
  const { body: { lease_id: leaseId } } = await lease(grid, grid.bob.key)
  const carol = await grid.acme.agent('carol')
  for (const key of [carol.key, grid.alice.key, grid.eve.key]) await peek(grid, key)
  const before = await dump(grid, grid.acme)
  for (const key of [carol.key, grid.alice.key, grid.eve.key]) {
    const acks = { lease_id: leaseId, message_ids: [id] }
    const to = key === grid.alice.key ? '@bob' : key === carol.key ? '@alice' : '@mallory'
    const answers = await Promise.all([
      ack(grid, key, leaseId),
      ack(grid, key, leaseId, [id]),
      release(grid, key, leaseId, [id]),
      extend(grid, key, leaseId, 600),
      ...(to === '@mallory' ? [] : [post(grid, key, { to, message: 'x', acks })]),
    ])
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(
      answers.map(() => [409, 'stale_lease']),
    )
    expect((await lease(grid, key, { message_ids: [id] })).body.lease_id).toBeNull()
  }
  expect(await dump(grid, grid.acme)).toBe(before)
  expect((await ack(grid, grid.bob.key, leaseId, ['another', id.toUpperCase()])).body).toEqual({ acked: 1 })
})

test('a list of 100,000 messages is refused before any is looked up', async () => {
  const message_ids = Array.from({ length: 100_000 }, (_, n) => String(n))
  const statuses = []
  for (const path of ['leases', 'leases/x/ack', 'leases/x/release']) {
    statuses.push((await callInbox(grid, grid.bob.key, 'POST', `/api/v1/inbox/${path}`, { message_ids })).status)
  }
  expect(statuses).toEqual([413, 413, 413])
})

test('a message whose lease expires five times is parked', async () => {
  await send('again')
  let taken = 0
  for (; taken < 20; taken++) {
    const { body } = await lease(grid, grid.bob.key, { seconds: 30 })
    if (body.lease_id === null) break
    // An expired lease cannot be extended.
    grid.clock.now += 30 * second
    expect((await extend(grid, grid.bob.key, body.lease_id, 43_200)).body.error.code).toBe('stale_lease')
  }
  expect(taken).toBe(5)
})
