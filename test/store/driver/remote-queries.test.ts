/** Queries to a libsql-server share only a request. Each has its own result or error, in order. */
import { type Client, createClient, type InValue, type ResultSet } from '@libsql/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openPost } from '../../../src/store/driver/remote-stream.ts'
import { resultSet } from '../../../src/store/driver/prepared-statement.ts'
import { RemoteQueries, type Send } from '../../../src/store/driver/remote-queries.ts'
import { connectRemote, queriesOf } from '../../../src/store/driver/remote-client.ts'
import { isLong } from '../../support/long.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'
import { turn } from '../../support/wait-for.ts'

let server: Sqld
let client: Client
let driver: Client
/** The body of each request. */
let requests: string[] = []
/** Requests are sent when this promise resolves. */
let opened: Promise<void> = Promise.resolve()
let tamper = (body: string) => body
let timeoutMs = 60_000

beforeAll(async () => {
  server = await startSqld({ isRelaxed: true })
  driver = createClient({ url: server.url, intMode: 'number' })
  client = open()
  await driver.execute('CREATE TABLE facts (id INTEGER PRIMARY KEY, value)')
})
afterAll(async () => {
  client.close()
  driver.close()
  await server.stop()
})
beforeEach(() => {
  requests = []
  opened = Promise.resolve()
  tamper = (body) => body
  timeoutMs = 60_000
})

test('concurrent queries share one request, and those that arrive during it share the next', async () => {
  let release = () => {}
  opened = new Promise((resolve) => release = resolve)

  const first = [1, 2, 3].map(echo)
  while (requests.length === 0) await turn()
  const second = [4, 5].map(echo)
  await turn()
  second.push(echo(6))
  release()

  expect(await Promise.all([...first, ...second])).toEqual([1, 2, 3, 4, 5, 6])
  expect(requests).toHaveLength(2)
})

test('a query does not wait for a slow request', async () => {
  let release = () => {}
  opened = new Promise((resolve) => release = resolve)
  const slow = echo(1)
  while (requests.length === 0) await turn()
  opened = Promise.resolve()

  expect(await echo(2)).toBe(2)
  release()
  expect(await slow).toBe(1)
})

test('a query does not wait while all streams are free, even if earlier queries had to wait', async () => {
  const answers: (() => void)[] = []
  const send: Send = (statements) =>
    new Promise((resolve) => answers.push(() => resolve(statements.map(() => resultSet({ columns: [], rows: [] })))))
  const queries = new RemoteQueries(send, send, send)
  const ask = () => queries.execute({ sql: 'SELECT 1', args: [] })
  const asked = async (requests: number) => {
    for (let n = 0; n < 3 && answers.length < requests; n++) await turn()
    return answers.length
  }

  const first = ask()
  expect(await asked(1)).toBe(1)
  const second = ask()
  answers[0]()
  await first
  expect(await asked(2)).toBe(2)
  answers[1]()
  await second
  await turn()
  const third = ask()
  expect(await asked(3)).toBe(3)
  answers[2]()
  await third
})

test('a long SQL text is sent once per stream, and again on a new stream', async () => {
  const text = `SELECT ?1 AS value /* ${'x'.repeat(300)} */`
  const run = async (value: number) => (await client.execute({ sql: text, args: [value] })).rows[0].value
  const sent = () => requests.filter((body) => body.includes('xxx')).length

  expect([await run(1), await run(2), await run(3)]).toEqual([1, 2, 3])
  expect([requests.length, sent()]).toEqual([3, 1])
  tamper = (body) => JSON.stringify({ ...JSON.parse(body), baton: JSON.parse(body).baton && 'of no stream' })
  expect(await run(4)).toBe(4)
  expect(sent()).toBe(2)
})

test.each([
  ['that is too long for the server to keep', 4999],
  ['with letters of several bytes', 2600],
])('an SQL text %s is sent each time', async (_, letters) => {
  const text = `SELECT ?1 AS value /* ${'ß'.repeat(letters)} */`
  const run = async (value: number) => (await client.execute({ sql: text, args: [value] })).rows[0].value

  expect([await run(1), await run(2)]).toEqual([1, 2])
  expect((await client.batch([{ sql: text, args: [3] }]))[0].rows[0].value).toBe(3)
})

test('after more SQL texts than the server caches, a repeated text is still sent only once', async () => {
  const text = (n: number) => `SELECT ?1 AS value /* text ${n} ${'y'.repeat(300)} */`
  const run = (n: number) => client.execute({ sql: text(n), args: [n] })
  const sent = (n: number) => requests.filter((body) => body.includes(text(n))).length

  for (let n = 0; n < 60; n++) expect((await run(n)).rows[0].value).toBe(n)
  const all = Array.from({ length: 60 }, (_, n) => n)
  expect((await Promise.all(all.map(run))).map(({ rows }) => rows[0].value)).toEqual(all)
  requests = []
  for (let n = 0; n < 5; n++) expect((await run(1000)).rows[0].value).toBe(1000)
  expect(sent(1000)).toBe(1)
})

test('a commit sends each SQL text only once, even if it occurs often and after many other texts', async () => {
  const text = (n: number) => `SELECT ?1 AS value /* part ${n} ${'z'.repeat(300)} */`
  for (let n = 0; n < 60; n++) await client.batch([{ sql: text(n), args: [n] }])
  requests = []

  const results = await client.batch(Array.from({ length: 30 }, (_, i) => ({ sql: text(1000), args: [i] })))
  expect(results.map(({ rows }) => rows[0].value)).toEqual(Array.from({ length: 30 }, (_, i) => i))
  expect(requests.join().split(text(1000)).length - 1).toBe(1)
})

test('queries with more and longer texts than a server caches get correct results', async () => {
  const run = async (n: number, length: number) => {
    const sql = `SELECT ?1 AS value /* ${String(n).padEnd(length, 'x')} */`
    return (await client.execute({ sql, args: [n] })).rows[0].value
  }

  for (let n = 0; n < 60; n++) expect(await run(n, 300)).toBe(n)
  for (const length of [4_970, 4_971, 4_980, 20_000]) expect(await run(length, length)).toBe(length)
})

test('each of many random queries has the same result as when run alone', async () => {
  const values: InValue[] = [null, 0, -1, 2.5, 2 ** 53 - 1, '', 'text', '“ß”\0', new Uint8Array([0, 255]), true]
  const pick = <T>(list: T[]) => list[Math.floor(Math.random() * list.length)]
  const texts = [
    // SQLite returns a whole number as an integer in a set, otherwise as a real. The test treats both as equal.
    "SELECT ?1 AS a, replace(typeof(?2), 'real', 'integer') AS b",
    'SELECT ?1 AS same, ?2 AS same',
    'SELECT ?1 UNION ALL SELECT ?2',
    'SELECT 1 WHERE ?1 IS NULL AND ?2 IS NULL',
    'SELECT nope, ?1, ?2',
  ]
  const random = Array.from({ length: 120 }, () => ({ sql: pick(texts), args: [pick(values), pick(values)] }))
  const plain = (answers: PromiseSettledResult<ResultSet>[]) =>
    answers.map((answer) =>
      answer.status === 'rejected' ? answer.reason.code : {
        ...answer.value,
        rows: answer.value.rows.map((row) => [...Array.from(row), { ...row }]),
        toJSON: undefined,
      }
    )

  const together = await Promise.allSettled(random.map((query) => client.execute(query)))
  const alone = []
  for (const query of random) alone.push(...await Promise.allSettled([driver.execute(query)]))

  // The store reports an error code that is not from SQLite as `unavailable`.
  const expected = plain(alone).map((answer) => answer === 'SQL_INPUT_ERROR' ? 'unavailable' : answer)
  expect(plain(together)).toEqual(expected)
  expect(new Set(expected.map((answer) => typeof answer))).toEqual(new Set(['object', 'string']))
})

test.each([
  ['for a missing column', 'SELECT nope', { code: 'unavailable' }],
  ['whose result is too large', 'SELECT hex(zeroblob(6000000))', { code: 'SQLITE_TOOBIG' }],
  ['whose result cannot be represented', 'SELECT 9223372036854775807', { name: 'RangeError' }],
  ['that is no SQL', 'SELECT FROM', { code: 'unavailable' }],
])('of queries in one request, only the query %s fails', async (_, sql, error) => {
  const answers = await Promise.allSettled([echo(1), echo(2), client.execute(sql), echo(3), echo(4), echo(5)])

  expect(answers.map((answer) => answer.status === 'fulfilled' ? answer.value : undefined))
    .toEqual([1, 2, undefined, 3, 4, 5])
  expect((answers[2] as PromiseRejectedResult).reason).toMatchObject(error)
  expect(requests).toHaveLength(1)
})

test('queries with the same text are sent as one statement, or alone if their arguments cannot be part of a set', async () => {
  const few = async (n: number) =>
    (await client.execute({ sql: "SELECT 1 FROM json_each('[1,2,3]') LIMIT ?1", args: [n] })).rows
  await echo(0)
  await few(1)
  requests = []

  expect(await Promise.all([echo(1), echo(2), echo(3)])).toEqual([1, 2, 3])
  expect(
    requests.map((body) => JSON.parse(body).requests.filter(({ type }: { type: string }) => type === 'execute').length),
  ).toEqual([1])
  expect((await Promise.all([few(1), few(2), few(3)])).map((rows) => rows.length)).toEqual([1, 2, 3])
  expect(
    requests.map((body) => JSON.parse(body).requests.filter(({ type }: { type: string }) => type === 'execute').length),
  ).toEqual([1, 3])
})

test('a query sees every commit acknowledged before it, whichever client made the commit', async () => {
  const other = open()
  await driver.execute('INSERT INTO facts VALUES (1, 0) ON CONFLICT DO UPDATE SET value = 0')
  const value = async (at: Client) => Number((await at.execute('SELECT value FROM facts WHERE id = 1')).rows[0].value)
  let acknowledged = 0
  let isOver = false
  const readers = Array.from({ length: 16 }, async (_, n) => {
    const stale: number[] = []
    while (!isOver) {
      const least = acknowledged
      if (await value(n % 2 ? client : other) < least) stale.push(least)
    }
    return stale
  })
  for (; acknowledged < 40; acknowledged++) {
    await driver.execute(`UPDATE facts SET value = ${acknowledged + 1} WHERE id = 1`)
  }
  isOver = true

  expect((await Promise.all(readers)).flat()).toEqual([])
  other.close()
})

test('consecutive requests share one stream, and a stream that the server has dropped is replaced', async () => {
  await echo(1)
  await echo(2)
  const baton = /"baton":"[^"]+"/
  expect(requests[1]).toMatch(baton)
  tamper = (body) => body.replace(baton, '"baton":"forgotten"')

  expect(await Promise.all([echo(3), echo(4)])).toEqual([3, 4])
  const [, , forgotten, retried, ...more] = requests
  expect(forgotten).toMatch(baton)
  expect(retried).not.toMatch(baton)
  expect(more).toEqual([])
})

test.runIf(isLong)('a stream that the server has closed for inactivity is not used', async () => {
  await echo(1)
  await new Promise((resolve) => setTimeout(resolve, 12_000))
  requests = []

  expect(await echo(2)).toBe(2)
  expect(requests).toHaveLength(1)
})

test('while the server is silent all waiting queries fail after one timeout, and later queries work again', async () => {
  timeoutMs = 200
  opened = new Promise(() => {})

  const answers = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => echo(n)))

  expect(new Set(answers.map((answer) => (answer as PromiseRejectedResult).reason.code))).toEqual(
    new Set(['unavailable']),
  )
  expect((answers[0] as PromiseRejectedResult).reason.details).toMatchObject({
    notExecuted: true,
    retryAfterSeconds: 1,
  })
  expect(requests).toHaveLength(1)
  opened = Promise.resolve()
  timeoutMs = 60_000
  expect(await echo(1)).toBe(1)
})

function open(): Client {
  const send = openPost({ ms: 60_000 })
  const remote = connectRemote({
    url: server.url,
    async post(url, headers, sent) {
      const body = tamper(sent)
      requests.push(body)
      const silence = AbortSignal.timeout(timeoutMs)
      await Promise.race([opened, new Promise((_, reject) => silence.onabort = () => reject(silence.reason))])
      return await send(url, headers, body)
    },
  })
  return { ...queriesOf(remote), batch: (each) => remote.batch(each), close: () => remote.close() } as Client
}

async function echo(n: number): Promise<number> {
  const { rows } = await client.execute({ sql: 'SELECT ?1 AS n', args: [n] })
  return Number(rows[0].n)
}
