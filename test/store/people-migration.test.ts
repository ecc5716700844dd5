/** Agents of type `human` of older versions, which programs acted as. See docs/operations.md, "Migrations". */
import { createClient } from '@libsql/client'
import { expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'

test('agents of older versions that were called human stay programs, with their keys', async () => {
  const step = migrations.findIndex(({ name }) => name.endsWith('_people'))
  const client = createClient({ url: ':memory:', concurrency: 1 })
  for (const { statements } of migrations.slice(0, step)) await client.migrate(statements)
  await client.execute("INSERT INTO accounts (id, name, state, created_at) VALUES ('a', 'Acme', 'claimed', 0)")
  for (const type of ['human', 'mcp', 'a2a']) {
    await client.execute({
      sql: `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, created_at)
        VALUES ('a', ?, ?, ?, 'private', 'auto_approve', 0)`,
      args: [type, `old-${type}`, type],
    })
  }

  await client.migrate(migrations[step].statements)

  const { rows } = await client.execute('SELECT alias, type FROM agents ORDER BY alias')
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { alias: 'old-a2a', type: 'a2a' },
    { alias: 'old-human', type: 'mcp' },
    { alias: 'old-mcp', type: 'mcp' },
  ])
  client.close()
})
