/** The thread on which the statements of a local file run. See docs/architecture.md, "The database thread". */
import { type Client, createClient, type InValue } from '@libsql/client'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isStorageFault } from '../../../src/store/driver/database-errors.ts'
import { connect } from '../../../src/store/driver/local-client.ts'
import { lockLocalFile, releaseLocalFile } from '../../../src/store/driver/local-file.ts'
import { connectThread } from '../../support/database-thread.ts'
import { waitFor } from '../../support/wait-for.ts'
import { testQueue } from '../../support/write-queue.ts'

const schema = [
  'CREATE TABLE parents (id INTEGER PRIMARY KEY)',
  'CREATE TABLE facts (key TEXT PRIMARY KEY, n INTEGER NOT NULL)',
  'CREATE TABLE children (id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
]
const insert = 'INSERT INTO facts (key, n) VALUES (?, ?)'
const count = 'SELECT count(*) AS n FROM facts'

let folder: string
let client: Client
let closing: Client[]
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-thread-'))
  closing = []
  client = await opened(connectThread({ url: url('grid') }))
  await client.execute('PRAGMA journal_mode = WAL')
  await client.execute('PRAGMA synchronous = OFF')
  await client.batch(schema, 'write')
})
afterEach(() => {
  for (const each of closing) each.close()
  rmSync(folder, { recursive: true, force: true })
})

test('requests run and are answered in the order of their calls, whatever they are', async () => {
  const settled: number[] = []
  const seen: Promise<[expected: number, found: number]>[] = []
  let units = 0
  for (let i = 0; i < 300; i++) {
    const isUnit = i % 7 === 0 || i % 11 === 0
    if (isUnit) {
      const unit = write([insert, `key ${units++}`, i])
      void unit.then(() => settled.push(i))
    } else {
      const expected = units
      const read = execute(count).then(({ rows: [{ n }] }) => [expected, Number(n)] as [number, number])
      seen.push(read)
      void read.then(() => settled.push(i))
    }
    // Some in the same turn of the event loop, some in later ones.
    if (i % 13 === 0) await execute('SELECT 1')
  }
  const results = await Promise.all(seen)
  await execute('SELECT 1')

  expect(results.filter(([expected, found]) => expected !== found)).toEqual([])
  expect(settled).toEqual([...settled].sort((a, b) => a - b))
  expect(settled).toHaveLength(300)
})

test('a unit is answered after its commit', async () => {
  const witness = await opened(createClient({ url: url('grid') }))

  for (let i = 0; i < 50; i++) {
    const others = [execute(count), execute(count)]
    await write([insert, `key ${i}`, i], [insert, `other ${i}`, i])
    expect((await witness.execute(count)).rows[0].n).toBe(2 * (i + 1))
    await Promise.all(others)
  }
})

test('each statement gets its own result, with any number of texts', async () => {
  const texts = Array.from({ length: 1_300 }, (_, i) => `SELECT ${i} AS n, ? AS given, 'x' AS c${i}`)
  const order = [...texts, ...texts.slice(400, 900), texts[0], ...texts.slice(0, 700)]

  const results = await Promise.all(order.map((sql, i) => execute(sql, i)))

  expect(results.map(({ rows: [row] }) => [row[0], row[1]])).toEqual(order.map((sql, i) => [texts.indexOf(sql), i]))
  expect(results.map(({ columns }) => columns[2])).toEqual(order.map((sql) => `c${texts.indexOf(sql)}`))
  const [units] = await Promise.all([write(...order.map((sql, i): Sent => [sql, i])), execute(texts[3], 1)])
  expect(units.map(({ rows: [row] }) => row.given)).toEqual(order.map((_, i) => i))
})

test.each<[string, InValue, unknown]>([
  ['null', null, null],
  ['text', 'ä€😀\u0001', 'ä€😀\u0001'],
  ['long text', 'x'.repeat(300_000), 'x'.repeat(300_000)],
  ['an integer', -9_007_199_254_740_991, -9_007_199_254_740_991],
  ['a fraction', 0.1, 0.1],
  ['a large integer', 9_007_199_254_740_991n, 9_007_199_254_740_991],
  ['true', true, 1],
  ['bytes', new Uint8Array([0, 1, 255]), new Uint8Array([0, 1, 255]).buffer],
  ['a part of a buffer', Buffer.from('xabcx').subarray(1, 4), new Uint8Array(Buffer.from('abc')).buffer],
  ['an ArrayBuffer', new Uint8Array([7]).buffer, new Uint8Array([7]).buffer],
  ['no bytes', new Uint8Array(), new ArrayBuffer(0)],
])('%s is the same behind the thread', async (_, value, expected) => {
  expect((await execute('SELECT ? AS value', value)).rows[0].value).toEqual(expected)
  expect((await write(['SELECT ? AS value', value]))[0].rows[0].value).toEqual(expected)
})

test('a value that the database does not take fails alone, before it is sent', async () => {
  const given = [{}, undefined, () => {}, Symbol('s'), new Date(), NaN] as unknown as InValue[]

  const answers = await Promise.all(
    given.flatMap((value) => [execute('SELECT ?', value).catch(String), execute('SELECT 1 AS n')]),
  )

  expect(answers.filter((_, i) => i % 2 === 0)).toEqual([
    'TypeError: object cannot be passed as argument to the database',
    'TypeError: undefined cannot be passed as argument to the database',
    'TypeError: function cannot be passed as argument to the database',
    'TypeError: symbol cannot be passed as argument to the database',
    'TypeError: object cannot be passed as argument to the database',
    'RangeError: Only finite numbers (not Infinity or NaN) can be passed as arguments',
  ])
  expect(answers.filter((_, i) => i % 2 === 1)).toMatchObject(given.map(() => ({ rows: [{ n: 1 }] })))
})

test('errors are those of a client without a thread', async () => {
  const direct = await opened(connect({ url: url('direct') }))
  await direct.batch(schema, 'write')
  const failures: ((client: Client) => Promise<unknown>)[] = [
    (by) => by.batch([{ sql: insert, args: ['a', 1] }, { sql: insert, args: ['a', 1] }], 'write'),
    (by) => by.execute({ sql: insert, args: ['a', null] }),
    (by) => by.batch([{ sql: 'INSERT INTO children VALUES (?)', args: [7] }], 'write'),
    (by) => by.batch(['SELECT 1', 'ROLLBACK', 'SELECT 1'], 'write'),
    (by) => by.execute('SELECT * FROM nothing'),
    (by) => by.batch(['SELECT nonsense'], 'write'),
    (by) => by.migrate(['SELECT nonsense']),
    (by) => by.execute('SELECT 9007199254740993'),
    (by) => by.execute({ sql: insert, args: ['a'] }).then(() => by.execute({ sql: insert, args: ['a', 1, 2] })),
  ]

  for (const fail of failures) {
    const [ours, theirs] = [await fail(client).catch((error) => error), await fail(direct).catch((error) => error)]
    expect(theirs).toBeInstanceOf(Error)
    expect(described(ours)).toEqual(described(theirs))
  }
})

test('a fault of the file is a storage fault behind the thread', async () => {
  writeFileSync(join(folder, 'damaged.db'), 'no database'.repeat(1_000))
  const damaged = await opened(connectThread({ url: url('damaged') }))

  for (const fail of [() => damaged.execute('SELECT * FROM facts'), () => damaged.batch(['SELECT 1'], 'write')]) {
    const error = await fail().catch((error) => error)
    expect(error).toMatchObject({ code: 'SQLITE_NOTADB' })
    expect(isStorageFault(error)).toBe(true)
  }
})

test('a unit that breaks a constraint fails alone with write_conflict, and the others are stored', async () => {
  const { queue } = testQueue({ options: { client } })

  const answers = await Promise.all(
    ['a', 'b', 'a', 'c'].map((key) => queue.write(key, [{ sql: insert, args: [key, 1] }]).catch(({ code }) => code)),
  )

  expect(answers).toEqual([[[]], [[]], 'write_conflict', [[]]])
  expect((await execute(count)).rows[0].n).toBe(3)
})

test('the thread holds the lock, and closing gives it back after what was asked before', async () => {
  const path = join(folder, 'locked.db')
  const lock = { durability: 'relaxed', waitSeconds: 0, now: Date.now } as const
  const first = await connectThread({ url: `file:${path}` })
  await lockLocalFile(first, path, lock)
  await first.execute('CREATE TABLE facts (key)')

  for (const make of [connectThread, connect]) {
    const second = await opened(make({ url: `file:${path}` }))
    await expect(lockLocalFile(second, path, lock)).rejects.toMatchObject({ code: 'database_in_use' })
    second.close()
  }
  const last = first.execute("INSERT INTO facts VALUES ('last')")
  const released = releaseLocalFile(first)
  await released
  first.close()

  await last
  expect(first.closed).toBe(true)
  await expect(first.execute('SELECT 1')).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  const next = await opened(connect({ url: `file:${path}` }))
  await lockLocalFile(next, path, lock)
  expect((await next.execute('SELECT key FROM facts')).rows).toMatchObject([{ key: 'last' }])
})

test.each([
  ['ends', 'process.exit(3)', 'It ended with code 3'],
  ['throws', "throw new TypeError('a fault of ours')", 'a fault of ours'],
])('a thread that %s is a storage fault: what it was asked fails, and everything after it', async (_, code, cause) => {
  const lost: Error[] = []
  const dying = await opened(
    connectThread(
      { url: url('dying') },
      (error) => lost.push(error),
      program(`
      parentPort.on('message', () => { ${code} })
      parentPort.postMessage('ready')
    `),
    ),
  )

  const errors = await Promise.all(
    [dying.execute('SELECT 1'), dying.batch(['SELECT 1'], 'write')].map((answer) => answer.catch((error) => error)),
  )
  await waitFor('the report', () => lost.length > 0)

  for (const error of [...errors, await dying.execute('SELECT 1').catch((error) => error)]) {
    expect(error).toMatchObject({ code: 'DATABASE_LOST', cause: { message: cause } })
    expect(isStorageFault(error)).toBe(true)
  }
  expect(lost).toEqual([errors[0]])
})

test.each([
  ['is missing', pathToFileURL(join(tmpdir(), 'no-such-program.mjs')), 'Cannot find module'],
  ['throws', () => program("throw new Error('no driver')"), 'no driver'],
  ['ends', () => program('process.exit(1)'), 'It ended with code 1'],
])('a thread whose program %s does not start', async (_, found, message) => {
  const url = typeof found === 'function' ? found() : found

  await expect(connectThread({ url: `file:${folder}/none.db` }, () => expect.unreachable(), url)).rejects
    .toThrow(message)
})

type Sent = [sql: string, ...args: InValue[]]

function execute(sql: string, ...args: InValue[]) {
  return client.execute({ sql, args })
}

function write(...statements: Sent[]) {
  return client.batch(statements.map(([sql, ...args]) => ({ sql, args })), 'write')
}

function described(error: unknown, depth = 0): unknown {
  const { constructor, message, code, extendedCode, rawCode, statementIndex, cause } = error as Record<string, unknown>
  const isInner = depth > 0
  return {
    // The cause is an error of the native driver, of which only the codes are kept.
    type: isInner ? undefined : constructor,
    ...{ message, code, extendedCode, rawCode, statementIndex },
    cause: cause && described(cause, depth + 1),
  }
}

/** The program of a thread that is not ours. */
function program(code: string): URL {
  const file = join(folder, 'program.mjs')
  writeFileSync(file, `import { parentPort } from 'node:worker_threads'\nimport process from 'node:process'\n${code}`)
  return pathToFileURL(file)
}

async function opened(made: Client | Promise<Client>): Promise<Client> {
  const client = await made
  closing.push(client)
  return client
}

function url(name: string): string {
  return `file:${join(folder, `${name}.db`)}`
}
