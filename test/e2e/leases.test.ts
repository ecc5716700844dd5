import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { bearer } from '../../src/auth/bearer.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { OpenReads } from '../../src/worker/leases.ts'
import { castBefore } from '../support/cast.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { startProgram, startServe, temporaryPlace } from '../support/process.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { callTool } from './client.ts'

const dying = 'test/support/dying-server.ts'
/** The claim of a read. */
const claim = '^update "deliveries" set "state"'

const servers: Sqld[] = []
afterAll(() => Promise.all(servers.map((server) => server.stop())))

test('Q3: kill -9 between commit and answer: on a file the read comes again exactly once, flagged', async () => {
  const place = temporaryPlace()
  const env = { DATABASE_URL: place.url }
  const { agents: [alice, bob] } = await castBefore(place.url, ['alice', 'bob'])
  const first = await startProgram(dying, [claim], env)
  await callTool(first.url, alice.key, 'send_message', { to: 'bob', message: 'hi' })

  await expect(callTool(first.url, bob.key, 'read_messages')).rejects.toThrow()
  await first.ended
  const second = await startServe('node', env)
  const read = () => callTool(second.url, bob.key, 'read_messages')
  const [again, rest] = [await read(), await read()]

  expect(again.messages).toMatchObject([{ message: 'hi', redelivered: true }])
  expect(rest.messages).toEqual([])
  await second.stop()
  place.remove()
}, 600_000)

test.each([['killed', 'SIGKILL'], ['suspended', 'SIGSTOP']] as const)(
  'Q3: of a process that was %s on libsql-server, a sibling gives back after 60 s, exactly once and flagged',
  async (_, signal) => {
    const sqld = await startSqld()
    servers.push(sqld)
    const grid = await testGrid({ url: sqld.url })
    const [alice, bob] = await Promise.all(
      [grid.alice, grid.bob].map(({ key }) => bearer(grid.store)(`Bearer ${key}`)),
    )
    await sendMessage(alice, { to: 'bob', text: 'hi' })
    const server = await startProgram(dying, signal === 'SIGSTOP' ? [claim, 'stop'] : [claim], {
      DATABASE_URL: grid.deps.config.databaseUrl,
    })
    const reading = callTool(server.url, grid.bob.key, 'read_messages')
    const answer = reading.catch(() => undefined)
    const watch = new OpenReads(grid.store)
    await watch.start()
    await claimed(grid)

    // A beat is 15 s; the other process said that it lives when it began.
    for (let beat = 0; beat < 3; beat++) await watch.beat()
    const early = await readMessages(bob, {})
    for (let beat = 0; beat < 3; beat++) await watch.beat()
    const again = await readMessages(bob, {})
    const rest = await readMessages(bob, {})

    expect(early.messages).toEqual([])
    expect(again.messages).toMatchObject([{ message: 'hi', redelivered: true }])
    expect(rest.messages).toEqual([])
    if (signal === 'SIGSTOP') {
      // It goes on where it stood, and its own answer changes nothing.
      server.signal('SIGCONT')
      expect((await answer).messages).toMatchObject([{ message: 'hi' }])
      expect((await callTool(server.url, grid.bob.key, 'read_messages')).messages).toEqual([])
    }
    server.signal('SIGKILL')
    await server.ended
    await grid.close()
  },
  600_000,
)

/** Resolves when some process has claimed mail. */
async function claimed(grid: TestGrid): Promise<void> {
  while ((await grid.store.global.instances.openReads()).length === 0) await sleep(20)
}
