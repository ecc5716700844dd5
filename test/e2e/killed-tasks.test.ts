/**
 * Processes in which tasks are asked and answered are killed (SIGKILL) at any moment: afterwards the events of each task
 * are 1 to N, and what they say is what the task is. More kills: `KILLS=200 npx vitest run --config
 * test/vitest.config.ts test/e2e/killed-tasks.test.ts`. See docs/delivery.md, "Tasks".
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { getTask } from '../../src/grid/tasks/tasks.ts'
import { isTerminal } from '../../src/grid/tasks/task.ts'
import { rows } from '../support/database.ts'
import { testGrid } from '../support/grid.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { storeOf } from '../support/tasks.ts'
import { shownEvents } from '../../src/grid/tasks/shown-task.ts'

const kills = Number(process.env.KILLS ?? 2)
const quotas = { MESSAGES_PER_DAY: '10000000', UNREAD_PER_INBOX: '10000000' }

test.each([['a local file', 1], ['libsql-server', 2]])(
  'on %s, kills leave the events of tasks without gaps',
  async (_, processes) => {
    const server: Sqld | undefined = processes > 1 ? await startSqld({ isRelaxed: true }) : undefined
    const prepared = await testGrid({ url: server?.url })
    const { acme, evil, alice, bob, eve } = prepared
    await prepared.store.close()
    const url = server?.url ?? `file:${join(prepared.folder, 'grid.db')}`
    const agents = JSON.stringify([alice, bob].map(({ id, alias }) => ({ account: acme.id, id, alias })))

    for (let killed = 0; killed < kills; killed += processes) {
      await Promise.all(Array.from({ length: processes }, () => runAndKill(url, agents)))
    }
    const grid = await testGrid({ url, cast: { acme, evil, alice, bob, eve } })
    try {
      const client = storeOf(grid, alice)
      const ids = (await rows(grid, 'SELECT id FROM tasks WHERE account_id = ?', [acme.id])).map(({ id }) => String(id))
      expect(ids.length).toBeGreaterThan(0)
      for (const id of ids) {
        const task = await getTask(client, id)
        const events = await shownEvents(
          { account: client, end: 'client', agentId: alice.id },
          id,
          await client.read.tasks.eventsAfter(alice.id, id, 0, 1_000),
        )
        expect(events.map(({ n }) => n)).toEqual(events.map((_, n) => n + 1))
        expect(task.generation).toBe(events.length)
        const states = events.flatMap((event) => event.type === 'status' ? [event.status.state] : [])
        const [row] = await rows(grid, 'SELECT state, expires_at FROM tasks WHERE account_id = ? AND id = ?', [
          acme.id,
          id,
        ])
        expect(row.state).toBe(states.at(-1))
        expect(row.expires_at === null).toBe(isTerminal(states.at(-1)!))
        expect(states.filter(isTerminal).length).toBe(row.expires_at === null ? 1 : 0)
        expect(states.slice(0, 1)).toEqual(['submitted'])
      }
      console.log(`${ids.length} tasks after ${kills} kills`)
    } finally {
      await grid.close()
      await server?.stop()
    }
  },
  60_000 + kills * 20_000,
)

/** The process kills itself: 5 ms to half a second after its first task. */
async function runAndKill(url: string, agents: string): Promise<void> {
  const ms = String(5 + 500 * Math.random() ** 2)
  const script = ['--import', 'tsx', 'test/support/task-process.ts', agents, ms]
  const env = { PATH: process.env.PATH, DATABASE_URL: url, DURABILITY: 'relaxed', LOCK_WAIT: '20', ...quotas }
  const child = spawn(process.execPath, script, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
}
