/**
 * Processes in which claims move agents are killed (SIGKILL) at any moment: afterwards each agent is in one account, with
 * its key, its inbox and the tasks that it has to answer. More kills: `KILLS=200 npx vitest run --config
 * test/vitest.config.ts test/e2e/killed-claims.test.ts`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { rows } from '../support/database.ts'
import { testGrid } from '../support/grid.ts'
import { startSqld } from '../support/sqld.ts'

const kills = Number(process.env.KILLS ?? 2)

test.each(['a local file', 'libsql-server'])(
  'on %s, kills leave each agent in one account with its inbox',
  async (on) => {
    const server = on === 'libsql-server' ? await startSqld({ isRelaxed: true }) : undefined
    const prepared = await testGrid({ url: server?.url })
    const { acme, evil, alice, bob, eve } = prepared
    await prepared.store.close()
    const url = server?.url ?? `file:${join(prepared.folder, 'grid.db')}`
    for (let n = 0; n < kills; n++) await runAndKill(url, acme.id, `run-${n}`)

    const grid = await testGrid({ url, cast: { acme, evil, alice, bob, eve } })
    try {
      const accounts = await rows(grid, `SELECT id, state FROM accounts WHERE id NOT IN (?, ?)`, [acme.id, evil.id])
      expect(accounts.length).toBeGreaterThan(0)
      for (const { id, state } of accounts) {
        const isClaimed = state === 'claimed'
        const home = isClaimed ? acme.id : String(id)
        const agents = (await rows(grid, 'SELECT id FROM agents WHERE account_id = ?', [id])).map((row) =>
          String(row.id)
        )
        for (const agent of agents) {
          const of = (table: string, condition: string) =>
            rows(grid, `SELECT 1 FROM ${table} WHERE account_id = ? AND ${condition}`, [home, agent])
          expect(await of('agents', 'id = ? AND deleted_at IS NULL')).toHaveLength(1)
          expect(await of('credentials', 'agent_id = ?')).toHaveLength(1)
        }
        const deliveries = await rows(
          grid,
          `SELECT messages.body, deliveries.account_id, deliveries.state = 'unread' OR EXISTS (SELECT 1 FROM leases
            WHERE leases.account_id = deliveries.account_id AND leases.id = deliveries.lease_id) AS waits
          FROM messages LEFT JOIN deliveries
            ON deliveries.message_id = messages.id AND deliveries.sender_account_id = messages.account_id
          WHERE messages.account_id = ?`,
          [id],
        )
        for (const delivery of deliveries) expect(delivery).toMatchObject({ account_id: home, waits: 1 })
        const tasks = await rows(grid, 'SELECT recipient_account_id, state FROM tasks WHERE account_id = ?', [id])
        for (const task of tasks) expect(task.state).toBe(isClaimed ? 'canceled' : 'submitted')
      }
      expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
      console.log(`${accounts.length} accounts after ${kills} kills`)
    } finally {
      await grid.close()
      await server?.stop()
    }
  },
  60_000 + kills * 20_000,
)

/** The process kills itself: up to 60 ms after the first agents could be claimed. */
async function runAndKill(url: string, account: string, prefix: string): Promise<void> {
  const ms = String(60 * Math.random())
  const script = ['--import', 'tsx', 'test/support/claim-process.ts', account, prefix, ms]
  const env = { DATABASE_URL: url, DURABILITY: 'relaxed', LOCK_WAIT: '20', SIGNUP_PER_HOUR: '1000' }
  const child = spawn(process.execPath, script, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
}
