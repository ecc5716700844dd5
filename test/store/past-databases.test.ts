/** Databases that older versions left behind are migrated whole. See docs/operations.md, "Migrations". */
import { type Client, createClient } from '@libsql/client'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { fileOf, pastDatabase, rowsOf } from '../../scripts/past-databases.ts'
import { aliceKey, bobKey, keys, type Row } from '../../scripts/past-databases/story.ts'
import { migrate } from '../../src/store/migrate.ts'
import { rotateKeys } from '../../src/store/rotate-keys.ts'
import { followLog } from '../../src/worker/threads.ts'
import { emptyGrid, type TestGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'

const steps = migrations.map(({ name }) => name)
const newest = steps.at(-1)!
const agents = (inbox: number) => `00000000-0000-7000-8000-0000000000${20 + inbox}`
const grant = '00000000-0000-7000-8000-000000000035'

/** What a step does to values of rows that were there before it, in the database of the step `from`. */
const changes: { step: string; table: string; change(row: Row, from: string): Partial<Row> }[] = [
  {
    step: '0010_fetched_keys',
    table: 'credentials',
    change(row, from) {
      if (row.kind !== 'agent_key' || row.user_id === null) return {}
      const hasGrant = row.agent_id === agents(1) && from >= '0002_people_delivery_oauth'
      return hasGrant ? { name: 'Client', grant_id: grant } : { revoked_at: expect.any(Number) }
    },
  },
  {
    step: '0017_right_to_answer',
    table: 'deliveries',
    change: (row) => ({ stranger_id: row.account_id === row.sender_account_id ? null : agents(1) }),
  },
  {
    step: '0022_message_log',
    table: 'deliveries',
    change: (row) => ({ inbox: Number(String(row.agent_id).slice(-1)) }),
  },
  {
    step: '0022_message_log',
    table: 'messages',
    change: (row) => ({ seq: Number(String(row.id).slice(-1)) }),
  },
  {
    step: '0022_message_log',
    table: 'accounts',
    change: (row) => ({ people_read_since: row.state === 'claimed' ? 0 : null }),
  },
  { step: '0023_people', table: 'agents', change: (row) => row.type === 'human' ? { type: 'mcp' } : {} },
]

/** Tables that a step fills from the rows of others, and how many rows they then have. */
const filled: Record<string, { step: string; rows: number }> = {
  agent_numbers: { step: '0018_agent_search', rows: 5 },
  projections: { step: '0022_message_log', rows: 1 },
}

let folder: string
let path: string
let schema: unknown[]
let defaults: Map<string, Row>

beforeAll(async () => {
  const client = createClient({ url: ':memory:', concurrency: 1 })
  await migrate(client)
  schema = await schemaOf(client)
  const { rows } = await client.execute(
    `SELECT t.name AS 'table', c.name, CASE c.dflt_value WHEN 'true' THEN 1 WHEN 'false' THEN 0 WHEN '''''' THEN ''
      ELSE CAST(c.dflt_value AS integer) END AS value
      FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`,
  )
  defaults = new Map()
  for (const { table, name, value } of rows) {
    defaults.set(String(table), { ...defaults.get(String(table)), [String(name)]: value as Row[string] })
  }
  client.close()
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-past-'))
  path = join(folder, 'grid.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the database of each schema is kept', () => {
  expect(steps.filter((step) => !existsSync(fileOf(step)))).toEqual([])
})

describe.each(steps)('the database of %s', (step) => {
  beforeEach(() => writeFileSync(path, pastDatabase(step)))

  test('keeps every row and value, and gets the schema of today', async () => {
    const client = createClient({ url: `file:${path}`, concurrency: 1 })
    await client.execute('PRAGMA synchronous = OFF')
    const before = await rowsOf(client, step)

    const applied = await migrate(client)

    expect(applied).toEqual(steps.slice(steps.indexOf(step) + 1))
    expect(await schemaOf(client)).toEqual(schema)
    expect((await client.execute('PRAGMA integrity_check')).rows.map(({ integrity_check: found }) => found))
      .toEqual(['ok'])
    expect((await client.execute('PRAGMA foreign_key_check')).rows).toEqual([])
    const after = await rowsOf(client, newest)
    // Triggers add some, for keys that ended.
    const signals = [before, after].map((rows) => rows.get('wake_signals') ?? [])
    expect(signals[1]).toEqual(expect.arrayContaining(signals[0]))
    for (const rows of [before, after]) rows.delete('wake_signals')
    for (const [table, rows] of before) {
      expect([table, sorted(after.get(table)!)]).toEqual([table, sorted(rows.map((row) => expected(step, table, row)))])
    }
    for (const [table, rows] of after) {
      const made = filled[table] !== undefined && step < filled[table].step ? filled[table].rows : 0
      if (!before.has(table)) expect([table, rows.length]).toEqual([table, made])
    }
    client.close()
  })

  test('is served: its agents read and send, its tokens open, and its messages are placed', async () => {
    const grid = await emptyGrid({ url: `file:${path}`, env: { GRID_KEYS: keys, LOG_LEVEL: 'info' } })
    const read = async (key: string) =>
      (await callTool(grid as TestGrid, key, 'read_messages')).text
        .map(({ message }: { message: string }) => message)
    try {
      expect(await read(aliceKey)).toEqual(['Message 2, for @alice', 'Message 3, for #general'])
      const sent = await callTool(grid as TestGrid, aliceKey, 'send_message', { to: '@bob', message: 'after all' })
      expect(sent.code).toBeUndefined()
      expect(await read(bobKey)).toEqual(['Message 3, for #general', 'after all'])

      expect(await rotateKeys(grid.store)).toMatchObject({ unreadable: 0, keys: [{ key: 'k1', isInRing: true }] })
      await followLog(grid.store)
      expect(grid.store.projection.behind).toBe(0)
      const account = grid.store.account('00000000-0000-7000-8000-000000000001', { type: 'system', job: 'test' })
      expect(await account.read.activity.firstBroken()).toBeUndefined()
      expect(readdirSync(folder).filter((name) => name.includes('schema')))
        .toEqual(step === newest ? [] : [`grid.db.schema-${steps.indexOf(step) + 1}`])
    } finally {
      await grid.store.close()
    }
  })
})

/** How a row looks after the migration: new columns have their defaults, unless a step computes them. */
function expected(step: string, table: string, row: Row): Row {
  let now = { ...defaults.get(table), ...row }
  for (const { step: at, table: changed, change } of changes) {
    if (changed === table && step < at) now = Object.assign({ ...now }, change(now, step))
  }
  return now
}

/** In an order that does not depend on how rows are stored. */
function sorted(rows: Row[]): Row[] {
  const key = (
    { account_id, id, n, seq, message_id, agent_id, user_id, key, alias, kind, thread_id, ...others }: Row,
  ) => JSON.stringify([account_id, message_id, agent_id, id, n, kind, key, alias, user_id, thread_id, seq, others])
  return rows.toSorted((a, b) => key(a) < key(b) ? -1 : 1)
}

async function schemaOf(client: Client): Promise<unknown[]> {
  const { rows } = await client.execute(
    `SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`,
  )
  return rows.map((row) => ({ ...row }))
}
