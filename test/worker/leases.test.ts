/** Reads that a process left open (reliability 2.2.3, 2.2.4), with the beats of the processes stepped by hand. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { giveBack, handedOver } from '../../src/grid/messaging/leases.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { OpenReads } from '../../src/worker/leases.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { rows } from '../support/database.ts'
import { onEachDatabase, type OpenGrid } from '../support/databases.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'

let grid: TestGrid
const open = () => grid.store.global.instances.openReads()
const at = (store: Store, { id, alias }: TestAgent, account = grid.acme) =>
  store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
const send = (text: string) => sendMessage(at(grid.store, grid.alice), { to: 'bob', text })
const read = (store = grid.store) => readMessages(at(store, grid.bob), {})

onEachDatabase((openGrid: OpenGrid) => {
  beforeEach(async () => {
    grid = await openGrid()
  })
  afterEach(() => grid.close())

  test('a hand-out is open until its answer was handed over, which costs no commit of its own', async () => {
    await send('hi')
    const { handOut } = await read()
    const during = await open()
    handedOver(at(grid.store, grid.bob), handOut!)
    await send('the next commit of anybody')

    expect(during).toMatchObject([{ accountId: grid.acme.id, agentId: grid.bob.id, batchId: handOut }])
    expect(await open()).toEqual([])
  })

  test('a read through the door leaves nothing open, and neither does an empty one', async () => {
    await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hi' })
    await callTool(grid, grid.bob.key, 'read_messages')
    await callTool(grid, grid.bob.key, 'read_messages')
    await send('the next commit of anybody')

    expect(await open()).toEqual([])
  })

  test('what was handed over is not given back any more, and what was given back is so once', async () => {
    await send('hi')
    const { handOut } = await read()
    handedOver(at(grid.store, grid.bob), handOut!)
    await send('the next commit of anybody')
    await giveBack(at(grid.store, grid.bob), handOut!)
    const second = await read()
    await giveBack(at(grid.store, grid.bob), second.handOut!)
    await giveBack(at(grid.store, grid.bob), second.handOut!)
    const third = await read()

    expect(second.messages.map(({ message }) => message)).toEqual(['the next commit of anybody'])
    expect(third.messages).toMatchObject([{ redelivered: true }])
    const [{ returned }] = await rows(grid, 'SELECT max(returned) AS returned FROM deliveries WHERE account_id = ?', [
      grid.acme.id,
    ])
    expect(returned).toBe(1)
  })
})

describe('on a local file', () => {
  beforeEach(async () => {
    grid = await testGrid()
  })
  afterEach(() => grid.close())

  test('whatever is open at the start is given back before the process is ready, in each account', async () => {
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
  let sibling: Store
  let mine: OpenReads
  let theirs: OpenReads
  beforeAll(async () => {
    sqld = await startSqld()
    grid = await testGrid({ url: sqld.url })
    sibling = await openStore({ ...grid.deps, config: readConfig({ DATABASE_URL: sqld.url }) }, { inspect: tripwire })
  })
  afterAll(async () => {
    await sibling.close()
    await grid.close()
    await sqld.stop()
  })
  beforeEach(() => {
    mine = new OpenReads(grid.store)
    theirs = new OpenReads(sibling)
  })

  test('a start and any number of beats leave the running reads of a living sibling alone', async () => {
    await theirs.start()
    await send('hi')
    const { handOut } = await read(sibling)

    await mine.start()
    for (let n = 0; n < 10; n++) {
      await theirs.beat()
      await mine.beat()
    }

    expect(await open()).toMatchObject([{ batchId: handOut }])
    handedOver(at(sibling, grid.bob), handOut!)
    await vi.waitFor(async () => expect(await open()).toEqual([]))
  })

  test('a sibling without four beats is dead; one that was only slow loses and doubles nothing', async () => {
    await theirs.start()
    await mine.start()
    await send('slow')
    const slow = await read(sibling)

    for (let n = 0; n < 3; n++) await mine.beat()
    const early = await read()
    await mine.beat()
    await mine.beat()
    const again = await read()

    expect(early.messages).toEqual([])
    expect(again.messages).toMatchObject([{ message: 'slow', redelivered: true }])
    // It goes on: its answer goes out, and neither that nor a failure of it touches the second hand-out.
    await giveBack(at(sibling, grid.bob), slow.handOut!)
    handedOver(at(sibling, grid.bob), slow.handOut!)
    await theirs.beat()
    expect((await read()).messages).toEqual([])
    expect((await grid.store.global.instances.all()).map(({ id }) => id).sort()).toEqual(
      [grid.store.instanceId, sibling.instanceId].sort(),
    )
    handedOver(at(grid.store, grid.bob), again.handOut!)
    await send('the next commit of anybody')
    expect((await open()).map(({ batchId }) => batchId)).toEqual([])
  })

  test('a process that stops well is forgotten', async () => {
    await theirs.start()
    await theirs.stop()

    expect((await grid.store.global.instances.all()).map(({ id }) => id)).not.toContain(sibling.instanceId)
  })
})
