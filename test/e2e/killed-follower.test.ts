/**
 * Processes that place messages in conversations are killed (SIGKILL) at any moment while messages flow: afterwards
 * each message has its places once, and what was kept is what is made again. More kills: `KILLS=200 npx vitest run
 * --config test/vitest.config.ts test/e2e/killed-follower.test.ts`. See docs/architecture.md, "Projections".
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { rebuildConversationsCommand } from '../../src/cli/keys.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { setAutomated } from '../../src/grid/messaging/turns.ts'
import { followLog } from '../../src/worker/threads.ts'
import { projected } from '../support/conversations.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

const kills = Number(process.env.KILLS ?? 2)
/** Nobody reads, so that the processes only send and place. */
const quotas = { MESSAGES_PER_DAY: '10000000', STRANGER_MESSAGES_PER_DAY: '10000000', UNREAD_PER_INBOX: '10000000' }

test.each([['a local file', 1], ['libsql-server', 2]])(
  'on %s, kills leave nothing half done',
  async (_, processes) => {
    const server: Sqld | undefined = processes > 1 ? await startSqld({ isRelaxed: true }) : undefined
    const prepared = await testGrid({ url: server?.url })
    const desk = await prepared.evil.agent('desk', { visibility: 'public' })
    await createChannel(prepared.acme.store, { name: 'general', members: ['alice', 'bob'] })
    const { acme, evil, alice, bob, eve } = prepared
    // What scripts say to each other never runs away.
    for (const agent of ['alice', 'bob']) await setAutomated(acme.store, { agent, isAutomated: true })
    await setAutomated(evil.store, { agent: 'desk', isAutomated: true })
    await prepared.store.close()
    const url = server?.url ?? `file:${join(prepared.folder, 'grid.db')}`
    const senders = [{ account: acme.id, ...alice }, { account: acme.id, ...bob }, { account: evil.id, ...desk }]

    for (let killed = 0; killed < kills; killed += processes) {
      await Promise.all(Array.from({ length: processes }, () => runAndKill(url, JSON.stringify(senders))))
    }
    const grid = await testGrid({ url, cast: { acme, evil, alice, bob, eve } })
    try {
      await followLog(grid.store)
      await expectPlaced(grid)
    } finally {
      await grid.close()
      await server?.stop()
    }
  },
  60_000 + kills * 15_000,
)

/** The process kills itself: 5 ms to half a second after its first messages, more often soon. */
async function runAndKill(url: string, senders: string): Promise<void> {
  const ms = String(5 + 500 * Math.random() ** 2)
  const script = ['--import', 'tsx', 'test/support/following-process.ts', senders, ms]
  const env = { PATH: process.env.PATH, DATABASE_URL: url, DURABILITY: 'relaxed', LOCK_WAIT: '20', ...quotas }
  const [, signal] = await once(
    spawn(process.execPath, script, { env, stdio: ['ignore', 'inherit', 'inherit'] }),
    'exit',
  )
  expect(signal).toBe('SIGKILL')
}

async function expectPlaced(grid: TestGrid): Promise<void> {
  const read = async () => await Promise.all([grid.acme.id, grid.evil.id].map((id) => projected(grid, id)))
  const kept = await read()
  const [acme, evil] = kept
  const count = async (sql: string, ...args: string[]) => Number((await rows(grid, sql, args))[0].n)
  const own = 'SELECT count(*) AS n FROM messages WHERE account_id = ?'
  const received = 'SELECT count(*) AS n FROM deliveries WHERE account_id = ? AND sender_account_id = ?'
  const expected = [
    await count(own, grid.acme.id) + await count(received, grid.acme.id, grid.evil.id),
    await count(own, grid.evil.id) + await count(received, grid.evil.id, grid.acme.id),
  ]
  expect([acme.messages.length, evil.messages.length]).toEqual(expected)
  expect(expected[1]).toBeGreaterThan(0)
  expect(acme.threads.reduce((sum: number, thread) => sum + (thread as { messages: number }).messages, 0))
    .toBe(expected[0])

  await rebuildConversationsCommand.run(grid.store, {})
  expect(await read()).toEqual(kept)
}
