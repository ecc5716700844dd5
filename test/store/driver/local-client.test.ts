/** The client with cached statements, which must never lose an acknowledged write. */
import { type Client, createClient, type InStatement } from '@libsql/client'
import fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/store/driver/remote-client.ts'

const schema = [
  'CREATE TABLE parents (id INTEGER PRIMARY KEY)',
  'CREATE TABLE facts (key TEXT PRIMARY KEY, n INTEGER)',
  'CREATE TABLE children (id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
  `CREATE TRIGGER no_evil BEFORE INSERT ON facts WHEN new.key = 'evil'
    BEGIN SELECT RAISE(ABORT, 'no evil'); END`,
]
const insert = 'INSERT INTO facts (key, n) VALUES (?, ?)'
const insertReturning = `${insert} RETURNING key`
const numbers = 'WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)'
/** A query that fails at its 150th row. */
const breaksOff = `${numbers} SELECT abs(CASE n WHEN 150 THEN -9223372036854775807 - 1 ELSE n END) FROM numbers LIMIT ?`

let folder: string
let client: Client
/** Another connection, which sees only committed data. */
let witness: Client

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-client-'))
  client = await open(connect, 'grid')
  witness = createClient({ url: url('grid'), concurrency: 1 })
})
afterEach(() => {
  client.close()
  witness.close()
  rmSync(folder, { recursive: true, force: true })
})

const failures: [string, string, () => Promise<unknown>][] = [
  ['an insert that breaks a constraint', 'SQLITE_CONSTRAINT', () => execute(insert, 'old', 1)],
  [
    'an insert that breaks a constraint in a batch',
    'SQLITE_CONSTRAINT',
    () => batch([insert, 'mine', 1], [insert, 'old', 1], [insert, 'more', 1]),
  ],
  ['an insert with RETURNING that breaks one', 'SQLITE_CONSTRAINT', () => execute(insertReturning, 'old', 1)],
  [
    'an insert with RETURNING that breaks one in a batch',
    'SQLITE_CONSTRAINT',
    () => batch([insertReturning, 'mine', 1], [insertReturning, 'old', 1]),
  ],
  ['a trigger that refuses', 'SQLITE_CONSTRAINT', () => execute(insert, 'evil', 1)],
  ['a trigger that refuses in a batch', 'SQLITE_CONSTRAINT', () => batch([insert, 'mine', 1], [insert, 'evil', 1])],
  ['a commit that breaks a constraint', 'SQLITE_CONSTRAINT', () => batch(['INSERT INTO children VALUES (?)', 7])],
  ['a missing table', 'SQLITE_ERROR', () => execute('SELECT * FROM nothing')],
  ['a read that breaks off', 'SQLITE_ERROR', () => execute(breaksOff, 1_000)],
  ['a read that breaks off in a batch', 'SQLITE_ERROR', () => batch([insert, 'mine', 1], [breaksOff, 1_000])],
  ['an integer that is no number', '', () => execute('SELECT 9007199254740993')],
  ['an integer that is no number in a batch', '', () => batch([insert, 'mine', 1], ['SELECT 9007199254740993'])],
  ['a missing value', '', () => execute(insert, 'mine')],
  ['a missing value in a batch', '', () => batch([insert, 'mine', 1], [insert, 'more'])],
  [
    'a ROLLBACK in a batch',
    'TRANSACTION_CLOSED',
    () => batch([insert, 'mine', 1], ['ROLLBACK'], [insert, 'more', 1]),
  ],
]

test.each(failures)('no acknowledged write is lost after %s (%s)', async (_, code, fail) => {
  await execute(insert, 'old', 1)
  await batch([insert, 'old too', 1], [insertReturning, 'oldest', 1])

  for (const round of [1, 2]) {
    expect(await fail().then(() => 'done', (error) => error.code ?? '')).toBe(code)
    await execute(insert, `alone ${round}`, 1)
    expect(await witnessed()).toContain(`alone ${round}`)
    await batch([insert, `together ${round}`, 1])
    expect(await witnessed()).toContain(`together ${round}`)
  }

  const rest = ['alone 1', 'alone 2', 'old', 'old too', 'oldest', 'together 1', 'together 2']
  expect(await witnessed()).toEqual(rest)
})

test('a new connection to a busy database stores what it acknowledges', async () => {
  await batch([insert, 'before', 1])
  const other = await witness.transaction('write')

  for (let i = 0; i < 3; i++) {
    await expect(batch([insert, 'refused', 1])).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
    client.close()
    client = connect({ url: url('grid') })
  }
  await expect(execute(insert, 'refused', 1)).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
  await other.rollback()
  client.close()
  client = connect({ url: url('grid') })
  await execute(insert, 'alone', 1)
  await batch([insert, 'together', 1])

  expect(await witnessed()).toEqual(['alone', 'before', 'together'])
})

test("a missing argument is refused, and never replaced by the previous call's argument", async () => {
  const echo = 'SELECT ? AS mine, ? AS yours'
  await execute(echo, 'acme', 'secret')

  await expect(execute(echo, 'evil')).rejects.toThrow('The statement takes 2 values and was given 1')
  expect((await execute(echo, 'evil', null)).rows).toEqual([{ mine: 'evil', yours: null }])
})

test("results, errors and commits equal those of the driver's client, in any order", async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'evil')
  const statement: fc.Arbitrary<InStatement> = fc.oneof(
    fc.tuple(name, fc.integer()).map((args) => ({ sql: insert, args })),
    fc.tuple(name, fc.integer()).map((args) => ({ sql: insertReturning, args })),
    fc.tuple(name).map((args) => ({ sql: 'DELETE FROM facts WHERE key = ? RETURNING n', args })),
    fc.tuple(fc.integer({ max: 9 })).map((args) => ({ sql: 'UPDATE facts SET n = n + 1 WHERE n > ?', args })),
    fc.tuple(fc.nat(3)).map((args) => ({ sql: 'INSERT INTO children VALUES (?)', args })),
    fc.tuple(fc.nat(1)).map((args) => ({ sql: 'INSERT OR IGNORE INTO parents VALUES (?)', args })),
    fc.constantFrom(1, 90, 100, 160).map((rows) => ({ sql: breaksOff, args: [rows] })),
    fc.nat(2).map((rows) => ({ sql: 'SELECT * FROM facts LIMIT ?', args: [rows] })),
    fc.constantFrom('SELECT * FROM facts', 'SELECT count(*) FROM facts', 'SELECT changes()', 'nonsense'),
    // Creates views, because a table cannot be dropped until the driver's failed statement is garbage collected.
    fc.constantFrom('key', 'n, key').map((columns) =>
      `CREATE VIEW IF NOT EXISTS extra AS SELECT ${columns} FROM facts`
    ),
    fc.constantFrom('DROP VIEW IF EXISTS extra', 'SELECT * FROM extra'),
  )
  const step = fc.oneof(statement, fc.array(statement, { minLength: 1, maxLength: 5 }))

  let run = 0
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    const names = [`caching ${++run}`, `plain ${run}`]
    const clients = [await open(connect, names[0]), await open(createClient, names[1])]
    const witnesses = names.map((file) => createClient({ url: url(file), concurrency: 1 }))
    try {
      for (const step of steps) {
        const [ours, theirs] = await Promise.all(clients.map((client) => outcome(client, step)))
        expect(ours).toEqual(theirs)
        const [seen, expected] = await Promise.all(witnesses.map((client) => witnessed(client)))
        expect(seen).toEqual(expected)
      }
    } finally {
      for (const client of [...clients, ...witnesses]) client.close()
    }
  })
  await fc.assert(property, { numRuns: 40 })
}, 300_000)

type Settings = Parameters<typeof connect>[0]
type Values = (string | number | null)[]

function execute(sql: string, ...args: Values) {
  return client.execute({ sql, args })
}

function batch(...statements: [string, ...Values][]) {
  return client.batch(statements.map(([sql, ...args]) => ({ sql, args })), 'write')
}

async function outcome(client: Client, step: InStatement | InStatement[]): Promise<unknown> {
  try {
    const results = Array.isArray(step) ? await client.batch(step, 'write') : [await client.execute(step)]
    return results.map((result) => result.toJSON())
  } catch (error) {
    const { code, message, statementIndex } = error as Error & { code: string; statementIndex: number }
    return { code, message, statementIndex }
  }
}

async function witnessed(by = witness): Promise<string[]> {
  const { rows } = await by.execute('SELECT key FROM facts ORDER BY key')
  return rows.map(({ key }) => String(key))
}

async function open(make: (settings: Settings) => Client, name: string): Promise<Client> {
  const client = make({ url: url(name), concurrency: 1, intMode: 'number' })
  await client.execute('PRAGMA journal_mode = WAL')
  await client.execute('PRAGMA synchronous = OFF')
  await client.batch(schema, 'write')
  return client
}

function url(name: string): string {
  return `file:${encodeURI(join(folder, `${name}.db`))}`
}
