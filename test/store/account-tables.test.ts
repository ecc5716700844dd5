/** The statements match what `db/account-tables.ts` declares for each table, and no other file lists tables. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getTableName } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { accountTables } from '../../db/account-tables.ts'
import { sealedTables } from '../../db/derived-tables.ts'
import * as schema from '../../db/schema.ts'
import { titles } from '../../src/cli/keys.ts'
import '../../src/store/global.ts'
import { allQueries } from '../../src/store/sql.ts'
import { testGrid } from '../support/grid.ts'

const declared = (Object.keys(accountTables) as (keyof typeof accountTables)[])
  .map((name) => ({ table: getTableName(schema[name]) as string, ...accountTables[name] }))
const namesOf = (tables: { table: string }[]) => tables.map(({ table }) => table).sort()
/** The account tables from which these statements delete rows. */
const deletedBy = (texts: string[]) => {
  const deleted = texts.flatMap((sql) => [...sql.matchAll(/\bDELETE FROM (\w+)/g)].map(([, table]) => table))
  return declared.filter(({ table }) => deleted.includes(table))
}

test('the tables declared to expire by age are exactly those from which a batched statement removes old rows', () => {
  const aging = allQueries.filter(({ names }) =>
    names.includes('until') || (names.includes('at') && names.includes('limit'))
  )

  expect(namesOf(deletedBy(aging.map(({ sql }) => sql)))).toEqual(
    namesOf(declared.filter(({ expires }) => expires === 'age')),
  )
})

test('the tables declared to expire with messages are exactly those from which message retention removes rows', async () => {
  const { acme } = await testGrid()
  const removal = acme.store.change.retention.removeMessages(['a message'], 1)

  const withMessages = deletedBy(removal.map(({ sql }) => sql)).filter(({ expires }) => expires !== 'age')

  expect(namesOf(withMessages)).toEqual(namesOf(declared.filter(({ expires }) => expires === 'message')))
})

test("the last unit of an account's removal empties the tables declared for it", async () => {
  const { acme } = await testGrid()

  const ended = deletedBy(acme.store.change.removal.end().map(({ sql }) => sql))

  expect(namesOf(ended)).toEqual(namesOf(declared.filter(({ removal }) => removal === 'emptied')))
})

test('no source file lists tables except db/account-tables.ts', () => {
  const name = declared.map(({ table }) => table).join('|')
  /** Matches three table names in a row, quoted or within one text. */
  const list = new RegExp(`(?:'(?:${name})',\\s*){2,}'(?:${name})'|\\b(?:(?:${name})\\s+){2,}(?:${name})\\b`)
  /** The one allowed list: these positions and counts are rebuilt when agents move to another account. */
  const allowed = `'traffic', 'thread_agents', 'threads'`

  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^(store|worker|cli|grid).*\.ts$/.test(path)
  )
  const lists = files.filter((path) => list.test(readFileSync(join('src', path), 'utf8').replace(allowed, '')))

  expect(lists).toEqual([])
})

test('rotate-keys has a title for each table with sealed tokens', () => {
  expect(Object.keys(titles)).toEqual(expect.arrayContaining([...sealedTables]))
})
