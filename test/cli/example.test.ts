/** The example grid of `demo --serve`. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { talkOn } from '../../src/cli/example/live.ts'
import { seedWorld } from '../../src/cli/example/world.ts'
import { readConfig } from '../../src/config.ts'
import { findConditions } from '../../src/grid/attention/attention.ts'
import { taskStates } from '../../src/grid/tasks/task.ts'
import { features } from '../../src/features.ts'
import { hasPhrase } from '../../src/web/accounts/activity-sentences.ts'
import { rows } from '../support/database.ts'
import { isLong } from '../support/long.ts'
import { liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

test.runIf(isLong)('the example grid contains the data that its pages show', { timeout: 60_000 }, async () => {
  const url = `file:${join(mkdtempSync(join(tmpdir(), 'agent-grid-world-')), 'grid.db')}`
  const env = { UNREAD_PER_INBOX: '300' }
  const { accountId, keys } = await seedWorld(readConfig({ DATABASE_URL: url, ...env }), 'correct horse battery staple')
  const grid = await liveGrid({ url, env })
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

  // With other data, the pages would contradict each other.
  const never = "SELECT alias FROM agents WHERE account_id = ? AND type = 'mcp' AND last_seen_at IS NULL"
  expect(await kinds(never)).toEqual([])
  const future = 'SELECT count(*) FROM messages WHERE account_id = ? AND created_at > unixepoch() * 1000'
  expect(await kinds(future)).toEqual([0])
  const now = 'SELECT count(*) FROM task_events WHERE account_id = ? AND at > unixepoch() * 1000 - 300000'
  expect(await kinds(now)).toEqual([0])
  expect(conditions.flatMap((one) => one.kind === 'remote' ? [one.of.unread] : [])).toEqual([1, 1])
  const tools = await kinds('SELECT DISTINCT tool FROM activity WHERE account_id = ?')
  expect(tools.filter((tool) => !hasPhrase(String(tool), features.flatMap(({ web }) => web ?? [])))).toEqual([])

  const messages = () => kinds('SELECT count(*) FROM messages WHERE account_id = ?')
  const [before] = await messages()
  const talking = new AbortController()
  const talk = talkOn(grid.url, keys, talking.signal, { exchange: [1, 5], answer: [1, 5] })
  await waitFor('messages', async () => Number((await messages())[0]) >= Number(before) + 10)
  talking.abort()
  await talk
})
