/** The example grid of `npm run dev`. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { seedWorld } from '../../scripts/world/world.ts'
import { readConfig } from '../../src/config.ts'
import { findConditions } from '../../src/grid/attention/attention.ts'
import { taskStates } from '../../src/grid/tasks/task.ts'
import { rows } from '../support/database.ts'
import { testGrid } from '../support/grid.ts'
import { isLong } from '../support/long.ts'

test.runIf(isLong)('the example grid has what its pages show', { timeout: 60_000 }, async () => {
  const url = `file:${join(mkdtempSync(join(tmpdir(), 'agent-grid-world-')), 'grid.db')}`
  const env = { UNREAD_PER_INBOX: '300' }
  const { accountId } = await seedWorld(readConfig({ DATABASE_URL: url, ...env }))
  const grid = await testGrid({ url, env })
  grid.clock.now = Date.now()
  const kinds = async (sql: string) => (await rows(grid, sql, [accountId])).map((row) => Object.values(row)[0])

  expect(await kinds('SELECT DISTINCT state FROM tasks WHERE account_id = ?')).toEqual(
    expect.arrayContaining([...taskStates]),
  )
  expect(await kinds("SELECT count(*) FROM held_messages WHERE account_id = ? AND state = 'held'")).toEqual([12])
  const conditions = await findConditions(grid.store.account(accountId, { type: 'system', job: 'test' }))
  const found = conditions.map(({ kind }) => kind)
  expect(new Set(found)).toEqual(new Set([...found, 'paused', 'guardrail', 'task', 'remote', 'webhook', 'inbox']))
  expect(found.filter((kind) => kind === 'remote')).toHaveLength(2)
})
