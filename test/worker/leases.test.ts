/** Dead processes' leases, with heartbeats called by the tests. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { minute } from '../../src/lib/time.ts'
import { writeParts } from '../../src/store/account.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase, type OpenGrid } from '../support/databases.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
const leases = () => grid.store.global.instances.leases(Number.MAX_SAFE_INTEGER)
const at = (store: Store, { id, alias }: TestAgent, account = grid.acme) =>
  store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
const send = (text: string) => sendMessage(at(grid.store, grid.alice), { to: 'bob', text })
const read = (store = grid.store) => readMessages(at(store, grid.bob), {})

onEachDatabase((openGrid: OpenGrid) => {
  beforeEach(async () => {
    grid = await openGrid()
  })

  test('a lease exists until it is acked, and its ack shares the next commit', async () => {
    await send('hi')
    const { lease } = await read()
    const during = await leases()
    leaseOf(at(grid.store, grid.bob), lease!.id).ack()
    await send('the next commit')

    expect(during).toMatchObject([{ accountId: grid.acme.id, agentId: grid.bob.id, id: lease!.id }])
    expect(await leases()).toEqual([])
  })

  test('an acked lease is not released, and a lease is released only once', async () => {
    await send('hi')
    const { lease } = await read()
    leaseOf(at(grid.store, grid.bob), lease!.id).ack()
    await send('the next commit')
    await leaseOf(at(grid.store, grid.bob), lease!.id).release()
    const second = await read()
    await leaseOf(at(grid.store, grid.bob), second.lease!.id).release()
    await leaseOf(at(grid.store, grid.bob), second.lease!.id).release()
    const third = await read()

    expect(second.messages.map(({ message }) => message)).toEqual(['the next commit'])
    expect(third.messages).toMatchObject([{ redelivered: true }])
    const [{ releases }] = await rows(
      grid,
      'SELECT max(release_count) AS releases FROM deliveries WHERE account_id = ?',
      [
        grid.acme.id,
      ],
    )
    expect(releases).toBe(1)
  })

  test('a timed lease is released exactly when it expires, and a later ack does nothing', async () => {
    await send('hi')
    const bob = at(grid.store, grid.bob)
    const end = grid.clock.now + minute
    const recovery = new LeaseRecovery(grid.store)
    const taken = { id: 'runner', agent: grid.bob.id, holder: 'a runner', at: grid.clock.now, expiresAt: end }
    await writeParts(
      bob,
      bob.change.leases.take(taken, { limit: 1, maxChars: 100, maxBytes: 30_000, expected: 1 }, null),
    )

    grid.clock.now = end - 1
    await recovery.releaseExpired()
    const early = await read()
    grid.clock.now = end
    await recovery.releaseExpired()
    const late = await read()

    expect(early.messages).toEqual([])
    expect(late.messages).toMatchObject([{ message: 'hi', redelivered: true }])
    leaseOf(bob, 'runner').ack()
    await leaseOf(bob, 'runner').release()
    expect((await read()).messages).toEqual([])
    await recovery.releaseExpired()
    // A lease without an expiry ends only with its holder.
    expect((await leases()).map(({ id }) => id)).toEqual([late.lease!.id])
  })
})

describe('on a local file', () => {
  beforeEach(async () => {
    grid = await testGrid()
  })

  test('a start does not release a lease that expires later', async () => {
    await send('hi')
    const bob = at(grid.store, grid.bob)
    const end = grid.clock.now + minute
    const taken = { id: 'runner', agent: grid.bob.id, holder: 'a runner', at: grid.clock.now, expiresAt: end }
    await writeParts(
      bob,
      bob.change.leases.take(taken, { limit: 1, maxChars: 100, maxBytes: 30_000, expected: 1 }, null),
    )

    const worker = await startWorker(grid.store)

    expect((await read()).messages).toEqual([])
    await worker.stop()
  })

  test('a start releases the leases of all accounts before the process is ready', async () => {
    await send('hi')
    await read()
    const mallory = await grid.evil.agent('mallory')
    await sendMessage(at(grid.store, grid.eve, grid.evil), { to: 'mallory', text: 'ho' })
    await readMessages(at(grid.store, mallory, grid.evil), {})

    const worker = await startWorker(grid.store)
    const again = await read()
    const theirs = await readMessages(at(grid.store, mallory, grid.evil), {})

    expect(again.messages).toMatchObject([{ message: 'hi', redelivered: true }])
    expect(theirs.messages).toMatchObject([{ message: 'ho', redelivered: true }])
    await Promise.all([worker.stop(), worker.stop()])
  })
})

describe('of several processes on libsql-server', () => {
  let sqld: Sqld
  let otherStore: Store
  let mine: LeaseRecovery
  let theirs: LeaseRecovery
  beforeAll(async () => {
    sqld = await startSqld()
    grid = await testGrid({ url: sqld.url })
    otherStore = await openStore({ ...grid.deps, config: readConfig({ DATABASE_URL: sqld.url }) }, {
      inspect: tripwire,
    })
  })
  afterAll(async () => {
    await otherStore.close()
    await grid.close()
    await sqld.stop()
  })
  beforeEach(() => {
    mine = new LeaseRecovery(grid.store)
    theirs = new LeaseRecovery(otherStore)
  })

  test("a start and many heartbeats do not release another live process's leases", async () => {
    await theirs.start()
    await send('hi')
    const { lease } = await read(otherStore)

    await mine.start()
    for (let n = 0; n < 10; n++) {
      await theirs.heartbeat()
      await mine.heartbeat()
    }

    expect(await leases()).toMatchObject([{ id: lease!.id }])
    leaseOf(at(otherStore, grid.bob), lease!.id).ack()
    await waitFor('the commit of the ack', async () => (await leases()).length === 0)
  })
})
