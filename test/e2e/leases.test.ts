import { afterAll, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { startProgram, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { waitFor } from '../support/wait-for.ts'
import { callTool } from './client.ts'

const dying = 'test/support/dying-server.ts'
/** Matches the statement that leases messages. */
const claim = "^UPDATE deliveries SET state = 'read', lease_id"

const servers: Sqld[] = []
afterAll(() => Promise.all(servers.map((server) => server.stop())))

test(
  'after kill -9 between commit and response, messages on a local file are redelivered once, and marked as such',
  async () => {
    const database = temporaryDatabase()
    const env = { DATABASE_URL: database.url }
    const { agents: [alice, bob] } = await seedAgents(database.url, ['alice', 'bob'])
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
    database.remove()
  },
  600_000,
)

test.each([['killed', 'SIGKILL'], ['suspended', 'SIGSTOP']] as const)(
  'messages of a process on libsql-server that was %s are redelivered once by another process after 60 s, and marked as such',
  async (_, signal) => {
    const sqld = await startSqld()
    servers.push(sqld)
    const grid = await testGrid({ url: sqld.url })
    const [alice, bob] = await Promise.all(
      [grid.alice, grid.bob].map(({ key }) => createAuthenticator(grid.store)(`Bearer ${key}`)),
    )
    await sendMessage(alice, { to: 'bob', text: 'hi' })
    const server = await startProgram(dying, signal === 'SIGSTOP' ? [claim, 'stop'] : [claim], {
      DATABASE_URL: grid.deps.config.databaseUrl,
    })
    const reading = callTool(server.url, grid.bob.key, 'read_messages')
    const answer = reading.catch(() => undefined)
    const recovery = new LeaseRecovery(grid.store)
    await recovery.start()
    await anyLease(grid)

    // Each call stands for the next heartbeat, 15 s later. The other process wrote a heartbeat when it started.
    for (let n = 0; n < 3; n++) await recovery.heartbeat()
    const early = await readMessages(bob, {})
    for (let n = 0; n < 3; n++) await recovery.heartbeat()
    const again = await readMessages(bob, {})
    const rest = await readMessages(bob, {})

    expect(early.messages).toEqual([])
    expect(again.messages).toMatchObject([{ message: 'hi', redelivered: true }])
    expect(rest.messages).toEqual([])
    if (signal === 'SIGSTOP') {
      // The suspended process continues. Its late response has no effect.
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

/** Resolves when a process has leased messages. */
async function anyLease(grid: TestGrid): Promise<void> {
  const { instances } = grid.store.global
  await waitFor('a lease', async () => (await instances.leases(Number.MAX_SAFE_INTEGER)).length > 0)
}
