import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { awaitMessages } from '../../src/grid/messaging/waiting.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'

let server: Sqld
let grid: TestGrid
let sibling: Store
const looks: string[] = []
beforeAll(async () => {
  server = await startSqld()
  grid = await testGrid({ url: server.url })
  const deps = { ...grid.deps, config: readConfig({ DATABASE_URL: server.url }) }
  sibling = await openStore(deps, {
    inspect(sql, crossing) {
      tripwire(sql, crossing)
      if (crossing === 'new deliveries' || crossing === 'newest delivery') looks.push(sql)
    },
  })
})
afterAll(async () => {
  await sibling.close()
  await grid.close()
  await server.stop()
})

test('a wait in one process is answered within 300 ms of a send in another', async () => {
  const tookMs: number[] = []
  // A busy machine may be late; then there is another try.
  for (let n = 0; n < 3 || (n < 20 && Math.min(...tookMs) >= 300); n++) {
    const text = `message ${n}`
    const reading = awaitMessages(bobAt(sibling), {}, { seconds: 10 })
    await sleep(500)
    await sendMessage(actorAt(grid.store, grid.alice), { to: '@bob', text })
    const sentAt = performance.now()

    expect((await reading).messages.map(({ message }) => message)).toEqual([text])
    tookMs.push(performance.now() - sentAt)
  }
  expect(Math.min(...tookMs)).toBeLessThan(300)
  expect(Math.max(...tookMs)).toBeLessThan(9_000)
})

test('a send between the look back and the first look of the process is not missed', async () => {
  for (let i = 0; i < 5; i++) {
    const reading = awaitMessages(bobAt(sibling), {}, { seconds: 10 })
    await sleep(2 * i)
    await sendMessage(actorAt(grid.store, grid.alice), { to: '@bob', text: `${i}` })

    expect((await reading).messages).toHaveLength(1)
    await sleep(250)
  }
})

test('any number of waits is one look per interval, and nobody waiting is none', async () => {
  await sleep(300)
  looks.length = 0
  const waits = [grid.alice, grid.bob].flatMap((agent) =>
    [1, 2, 3].map(() => awaitMessages(actorAt(sibling, agent), {}, { seconds: 1 }))
  )
  await Promise.all(waits)
  await sleep(300)
  const during = looks.length
  await sleep(500)

  expect(during).toBeGreaterThan(2)
  expect(during).toBeLessThan(9)
  expect(looks).toHaveLength(during)
})

function bobAt(store: Store) {
  return actorAt(store, grid.bob)
}

function actorAt(store: Store, { id: agentId, alias, key }: TestGrid['bob']) {
  return store.account(grid.acme.id, { type: 'agent', agentId, alias, credentialId: key })
}
