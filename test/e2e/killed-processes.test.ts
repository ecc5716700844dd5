/**
 * Processes are killed (SIGKILL) at random moments, and must leave nothing half done. For more kills: `KILLS=200 npx
 * vitest run --config test/vitest.config.ts test/e2e/killed-processes.test.ts`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { recount } from '../../scripts/recount/recount.ts'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { rebuildConversations } from '../../src/cli/doctor/repairs.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { setAutomated } from '../../src/grid/messaging/turns.ts'
import { shownEvents } from '../../src/grid/tasks/shown-task.ts'
import { isTerminal } from '../../src/grid/tasks/task.ts'
import { getTask } from '../../src/grid/tasks/tasks.ts'
import { followLog } from '../../src/worker/followers.ts'
import { projected } from '../support/conversations.ts'
import { rows } from '../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { decideOldest, hold } from '../support/held.ts'
import { person } from '../support/people.ts'
import { startSqld } from '../support/sqld.ts'

const kills = Number(process.env.KILLS ?? 2)

/** The check after the kills, for each kind of work of `test/support/killed-process.ts`. */
const works: Record<string, (grid: TestGrid) => Promise<void>> = {
  conversations: expectPlaced,
  tasks: expectEvents,
  claims: expectOneHome,
  approvals: expectDecidedOnce,
}

test.each(Object.keys(works).flatMap((work) => [[work, 'a local file'], [work, 'libsql-server']]))(
  'killed processes leave %s consistent on %s',
  async (work, on) => {
    const server = on === 'libsql-server' ? await startSqld({ isRelaxed: true }) : undefined
    const prepared = await testGrid({ url: server?.url })
    const { acme, evil, alice, bob, eve } = prepared
    const desk = await evil.agent('desk', { visibility: 'public' })
    await createChannel(acme.store, { name: 'general', members: ['alice', 'bob'] })
    // Conversations between automated agents are never paused as runaway.
    for (const agent of ['alice', 'bob']) await setAutomated(acme.store, { agent, isAutomated: true })
    await setAutomated(evil.store, { agent: 'desk', isAutomated: true })
    if (work === 'approvals') {
      for (const name of ['Ann', 'Bea']) await person(prepared, { role: 'owner', name })
      await hold(acme.store)
    }
    await prepared.store.close()
    const url = server?.url ?? `file:${join(prepared.folder, 'grid.db')}`
    const accounts = [acme, acme, evil]
    const agents = [alice, bob, desk].map(({ id, alias }, n) => ({ account: accounts[n].id, id, alias }))

    const processes = server ? 2 : 1
    for (let killed = 0; killed < kills; killed += processes) {
      await Promise.all(Array.from({ length: processes }, () => runAndKill(url, work, JSON.stringify(agents))))
    }
    const grid = await testGrid({ url, cast: { acme, evil, alice, bob, eve } })
    try {
      await works[work](grid)
      expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
      expect(await recount({ url }, { withHistory: work !== 'claims' })).toEqual([])
    } finally {
      await grid.close()
      await server?.stop()
    }
  },
  60_000 + kills * 20_000,
)

/** Limits so high that the processes, which send a lot and read little, never reach them. */
const env = {
  DURABILITY: 'relaxed',
  MESSAGES_PER_DAY: '10000000',
  EXTERNAL_MESSAGES_PER_DAY: '10000000',
  UNREAD_PER_INBOX: '10000000',
  SIGNUP_PER_HOUR: '10000',
}

/** Starts a process that kills itself up to half a second after its work has begun, usually soon. */
async function runAndKill(url: string, work: string, agents: string): Promise<void> {
  const ms = String(500 * Math.random() ** 3)
  const [node, ...script] = [...runtimeCommand('node'), 'test/support/killed-process.ts', work, agents, ms]
  const child = spawn(node, script, {
    env: { PATH: process.env.PATH, DATABASE_URL: url, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
}

/** Expects each message to be placed once, as a rebuild would place it. See docs/architecture.md. */
async function expectPlaced(grid: TestGrid): Promise<void> {
  await followLog(grid.store)
  const read = async () => await Promise.all([grid.acme.id, grid.evil.id].map((id) => projected(grid, id)))
  const kept = await read()
  const count = async (sql: string, ...args: string[]) => Number((await rows(grid, sql, args))[0].n)
  for (const [n, [own, other]] of [[grid.acme, grid.evil], [grid.evil, grid.acme]].entries()) {
    const sent = await count('SELECT count(*) AS n FROM messages WHERE account_id = ?', own.id)
    const received = await count(
      'SELECT count(*) AS n FROM v_deliveries WHERE account_id = ? AND sender_account_id = ?',
      own.id,
      other.id,
    )
    expect(received).toBeGreaterThan(0)
    expect(kept[n].messages.length).toBe(sent + received)
  }
  const inThreads = kept[0].threads.reduce((sum: number, thread) => sum + (thread as { messages: number }).messages, 0)
  expect(inThreads).toBe(kept[0].messages.length)

  await rebuildConversations.run(grid.store, {})
  expect(await read()).toEqual(kept)
}

/** Expects that each task's events are numbered 1 to N, and match the task. See docs/delivery.md, "Tasks". */
async function expectEvents(grid: TestGrid): Promise<void> {
  const account = storeOf(grid, grid.alice)
  const sql = 'SELECT id, state, expires_at FROM tasks WHERE account_id = ?'
  const found = await rows(grid, sql, [grid.acme.id])
  expect(found.length).toBeGreaterThan(0)
  for (const { id, state, expires_at } of found) {
    const { generation } = await getTask(account, String(id))
    const stored = await account.read.tasks.eventsAfter(grid.alice.id, String(id), 0, 1_000)
    const events = await shownEvents({ account, end: 'client', agentId: grid.alice.id }, String(id), stored)
    expect(events.map(({ n }) => n)).toEqual(Array.from({ length: generation }, (_, n) => n + 1))
    const states = events.flatMap((event) => event.type === 'status' ? [event.status.state] : [])
    expect([states[0], states.at(-1)]).toEqual(['submitted', state])
    expect(states.filter(isTerminal).length).toBe(expires_at === null ? 1 : 0)
  }
}

/** Expects that each agent is in one account, together with its key, its inbox and its open tasks. */
async function expectOneHome(grid: TestGrid): Promise<void> {
  const { acme, evil } = grid
  const accounts = await rows(grid, 'SELECT id, state FROM accounts WHERE id NOT IN (?, ?)', [acme.id, evil.id])
  expect(accounts.length).toBeGreaterThan(0)
  for (const { id, state } of accounts) {
    const isClaimed = state === 'claimed'
    const home = isClaimed ? acme.id : String(id)
    for (const agent of await rows(grid, 'SELECT id FROM agents WHERE account_id = ?', [id])) {
      const found = (table: string, condition: string) =>
        rows(grid, `SELECT 1 FROM ${table} WHERE account_id = ? AND ${condition}`, [home, String(agent.id)])
      expect(await found('agents', 'id = ? AND deleted_at IS NULL')).toHaveLength(1)
      expect(await found('credentials', 'agent_id = ?')).toHaveLength(1)
    }
    const deliveries = await rows(
      grid,
      `SELECT deliveries.account_id, deliveries.state = 'unread' OR EXISTS (SELECT 1 FROM leases
        WHERE leases.account_id = deliveries.account_id AND leases.id = deliveries.lease_id) AS waits
      FROM messages LEFT JOIN deliveries
        ON deliveries.seq = messages.seq
      WHERE messages.account_id = ?`,
      [id],
    )
    for (const delivery of deliveries) expect(delivery).toMatchObject({ account_id: home, waits: 1 })
    const tasks = await rows(grid, 'SELECT state FROM tasks WHERE account_id = ?', [id])
    for (const task of tasks) expect(task.state).toBe(isClaimed ? 'canceled' : 'submitted')
  }
}

/** Expects one decision and one outcome per message, and a pair's messages in the order of the decisions. */
async function expectDecidedOnce(grid: TestGrid): Promise<void> {
  const { acme, clock, store } = grid
  const people = (await acme.store.read.team.members()).slice(0, 2).map(({ userId }) =>
    store.account(acme.id, { type: 'user', userId, role: 'owner', sessionId: 'test' })
  )
  clock.now = Date.now()
  for (let n = 0; (await Promise.all(people.map((account) => decideOldest(account, n)))).includes(true);) n++
  const decided = await rows(
    grid,
    `SELECT messages.id, messages.seq, messages.from_agent_id AS sender, held.state, count(DISTINCT held.id) AS holds,
      count(DISTINCT deliveries.seq) AS deliveries, max(deliveries.seq) AS delivered, count(DISTINCT notices.seq) AS notices
    FROM messages
    LEFT JOIN held_messages AS held ON held.account_id = messages.account_id AND held.message_id = messages.id
    LEFT JOIN deliveries ON deliveries.account_id = messages.account_id AND deliveries.seq = messages.seq
    LEFT JOIN messages AS notices ON notices.account_id = messages.account_id
      AND notices.reply_to_message_id = messages.id
    WHERE messages.account_id = ? AND messages.type = 'agent' GROUP BY messages.id ORDER BY delivered`,
    [acme.id],
  )
  const counts = { approved: 0, refused: 0 }
  const last = new Map<string, number>()
  for (const { seq, sender, holds, state, deliveries, notices } of decided) {
    const isApproved = state === 'approved'
    expect([holds, deliveries, notices, Number(seq) > 0]).toEqual(isApproved ? [1, 1, 0, true] : [1, 0, 1, false])
    counts[isApproved ? 'approved' : 'refused']++
    if (!isApproved) continue
    expect(Number(seq)).toBeGreaterThan(last.get(String(sender)) ?? 0)
    last.set(String(sender), Number(seq))
  }
  expect(Math.min(counts.approved, counts.refused)).toBeGreaterThan(0)
  if (kills > 2) console.info('Decided', counts)
}
