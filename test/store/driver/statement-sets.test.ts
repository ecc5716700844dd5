/** A set does what its statements do one after the other. */
import { type Client, createClient, type InValue, type ResultSet } from '@libsql/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PlainStatement, StatementSets, type Step } from '../../../src/store/driver/statement-sets.ts'
import '../../../src/store/account.ts'
import '../../../src/store/global.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { allQueries } from '../../../src/store/sql.ts'

let client: Client
let sets: StatementSets
beforeAll(async () => {
  client = createClient({ url: 'file::memory:', concurrency: 1 })
  await migrate(client)
  await client.execute('CREATE TABLE facts (id INTEGER PRIMARY KEY, account, name TEXT, value)')
})
afterAll(() => client.close())
beforeEach(() => sets = new StatementSets())

test.each<[string, string, InValue[][]]>([
  ['a query', 'SELECT id, value FROM facts WHERE account = ? AND name = ?', [['a', 'x'], ['b', 'x'], ['c', 'x']]],
  ['a query of many rows', 'SELECT * FROM facts WHERE account = ? ORDER BY id DESC LIMIT ?', [['b', 9], ['a', 9]]],
  ['a query with a subquery', 'SELECT (SELECT count(*) FROM (SELECT 1 FROM facts WHERE account = ? LIMIT ?)) AS n', [
    ['a', 9],
    ['c', 9],
  ]],
  ['columns of the same name', 'SELECT ? AS same, ? AS same', [['a', 1], ['b', null]]],
  ['equal arguments', 'SELECT id FROM facts WHERE account = ?', [['a'], ['a']]],
  ['a text like a parameter', 'SELECT \'?\' AS "?", ? AS b', [['?'], ["'"]]],
  ['a text like a number that is too large', 'SELECT ? AS a', [[',90071992547409930,'], ['b']]],
  ['booleans', 'SELECT ? AS a', [[true], [false]]],
  [
    'an insert',
    "INSERT INTO facts SELECT NULL, ?, name, ? FROM facts WHERE id = ? AND name <> '' ON CONFLICT DO NOTHING",
    [['c', 'first', 1], ['d', 'second', 2], ['e', 'none', 99], ['f', 'fourth', 3]],
  ],
  ['an update', 'UPDATE facts SET value = ?, name = ? WHERE account = ? AND id = ?', [
    ['new', 'n', 'a', 1],
    ['wrong', 'n', 'a', 3],
    [null, 'n', 'b', 4],
  ]],
  ['a delete', 'DELETE FROM facts WHERE account = ? AND (name = ? OR value = ?)', [['a', 'x', 0], ['b', '', '“4”']]],
])('%s', async (_, sql, argsOf) => {
  const statements = argsOf.map((args) => ({ sql, args }))
  await refill()
  const results = []
  for (const statement of statements) results.push(...await run(only(statement)))
  const changed = await facts()

  const [step, ...others] = sets.stepsOf(statements, [statements.map((_, i) => i)])

  expect(others).toEqual([])
  expect(step.of).toHaveLength(argsOf.length)
  await refill()
  expect(await run(step)).toEqual(results)
  expect(await facts()).toEqual(changed)
})

test.each<[string, string, InValue[][]]>([
  ['it is not known', 'SELECT 1', []],
  ['a bound differs', 'SELECT id FROM facts WHERE account = ? LIMIT ?', [['a', 1], ['b', 2]]],
  ['what it is ordered by differs', 'SELECT id FROM facts ORDER BY name = ?', [['x'], ['z']]],
  [
    'what it does in a conflict differs',
    'INSERT INTO facts (id) SELECT id FROM facts WHERE id = ? ON CONFLICT DO UPDATE SET value = ?',
    [[1, 1], [2, 2]],
  ],
  ['it changes and returns rows', 'UPDATE facts SET value = ? WHERE id = ? RETURNING id', [[1, 1], [2, 2]]],
  ['its rows are cut off together', 'INSERT INTO facts (name) SELECT name FROM facts WHERE id < ? LIMIT 1', [[1], [2]]],
  ['it has its values in brackets', 'INSERT INTO facts (name) VALUES (?)', [['a'], ['b']]],
  ['a value is no JSON', 'SELECT ? AS a', [[new Uint8Array([1])], ['b']]],
  ['a text is not well-formed', 'SELECT ? AS a', [['\ud800'], ['b']]],
  ['a text has U+0000', 'SELECT ? AS a', [['\0'], ['b']]],
])('a statement runs alone if %s', async (_, sql, argsOf) => {
  if (argsOf.length > 0) await run(only({ sql, args: argsOf[0] }))
  const statements = (argsOf.length > 0 ? argsOf : [[], []]).map((args) => ({ sql, args }))

  expect(sets.stepsOf(statements, [[0, 1]])).toEqual(statements.map((statement, i) => ({ ...statement, of: [i] })))
})

test('a number that is too large for JavaScript is an error', async () => {
  const statements = [1, 2].map((n) => ({ sql: 'SELECT 9007199254740990 + ? AS n', args: [n + 1] }))
  sets.resultsOf(only(statements[0]), await client.execute('SELECT 1 AS n'))

  const [step] = sets.stepsOf(statements, [[0, 1]])

  await expect(run(step)).rejects.toBeInstanceOf(RangeError)
})

test('SQLite understands the set of every statement of the store', async () => {
  let understood = 0
  for (const { sql, names } of allQueries) {
    if (/ returning /i.test(sql)) continue
    const args = names.map((_, i) => isNumber(sql, i) ? 1 : '"abc"')
    const columns = /^select/i.test(sql) ? (await client.execute({ sql, args })).columns : []
    sets.resultsOf(only({ sql, args }), { columns, rows: [] } as unknown as ResultSet)
    // What a statement is ordered by, and what such clauses have, may be the same for all units, or not.
    for (
      const own of [
        args.map((arg) => arg === 1 ? 1 : '"xyz"'),
        args.map((arg, i) => isOrdered(sql, i) ? arg : '"xyz"'),
      ]
    ) {
      const [step] = sets.stepsOf([{ sql, args }, { sql, args: own }], [[0, 1]])
      if (!step.columns) continue
      await client.execute({ sql: `EXPLAIN ${step.sql}`, args: step.args })
      understood++
    }
  }

  expect(understood).toBeGreaterThan(200)
})

/** Whether a parameter of a statement must be a number. */
function isNumber(sql: string, parameter: number): boolean {
  return /(limit|offset) $/i.test(sql.split('?')[parameter])
}

/** Whether a parameter comes after a clause that cannot name the table of the units. */
function isOrdered(sql: string, parameter: number): boolean {
  return /(order by|limit|on conflict) /i.test(sql.split('?').slice(0, parameter + 1).join('?'))
}

/** The step of a statement alone. */
function only(statement: PlainStatement): Step {
  return { ...statement, of: [0] }
}

async function run(step: Step): Promise<object[][]> {
  const results = sets.resultsOf(step, await client.execute({ sql: step.sql, args: step.args }))
  return results.map(({ columns, rows }) => rows.map((row) => ({ values: Array.from(row), ...row, columns })))
}

async function facts(): Promise<unknown[][]> {
  const { rows } = await client.execute('SELECT * FROM facts ORDER BY id')
  return rows.map((row) => Array.from(row))
}

async function refill(): Promise<void> {
  await client.execute('DELETE FROM facts')
  await client.execute(
    "INSERT INTO facts VALUES (1, 'a', 'x', 1), (2, 'a', 'y', 2.5), (3, 'b', 'x', NULL), (4, 'b', 'z', '“4”')",
  )
}
