/** Questions to a libsql-server share requests, and nothing else: each has its own answer, fault and order. */
import { type Client, createClient, type InValue } from '@libsql/client'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openQuestions, type Questions } from '../../../src/store/driver/query-batcher.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'

let server: Sqld
let questions: Questions
let driver: Client
/** What each request held. */
let requests: string[] = []
/** Requests go out when this has resolved. */
let opened: Promise<void> = Promise.resolve()
let spoil = (body: string) => body
let patienceMs = 60_000

beforeAll(async () => {
  server = await startSqld({ isRelaxed: true })
  driver = createClient({ url: server.url, intMode: 'number' })
  questions = open()
  await driver.execute('CREATE TABLE facts (id INTEGER PRIMARY KEY, value)')
})
afterAll(async () => {
  questions.close()
  driver.close()
  await server.stop()
})
beforeEach(() => {
  requests = []
  opened = Promise.resolve()
  spoil = (body) => body
  patienceMs = 60_000
})

test('questions of one moment are one request, and those that come meanwhile are the next', async () => {
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

test('no request holds more than 64 of them', async () => {
  const numbers = Array.from({ length: 150 }, (_, n) => n)

  expect(await Promise.all(numbers.map(echo))).toEqual(numbers)
  expect(requests).toHaveLength(3)
})

test('who asked first is answered first, and asks its next question first', async () => {
  const order: string[] = []
  await Promise.all(Array.from({ length: 150 }, async (_, n) => {
    await echo(n)
    order.push(`first of ${n}`)
    await echo(n)
    order.push(`second of ${n}`)
  }))

  for (const which of ['first', 'second']) {
    expect(order.filter((line) => line.startsWith(which)))
      .toEqual(Array.from({ length: 150 }, (_, n) => `${which} of ${n}`))
  }
})

test('each of many random questions has the answer that it has alone', async () => {
  const values: InValue[] = [null, 0, -1, 2.5, 2 ** 53 - 1, '', 'text', '“ß”\0', new Uint8Array([0, 255]), true]
  const pick = <T>(list: T[]) => list[Math.floor(Math.random() * list.length)]
  const texts = [
    'SELECT ? AS a, typeof(?) AS b',
    'SELECT ? AS same, ? AS same',
    'SELECT ? UNION ALL SELECT ?',
    'SELECT 1 WHERE ? IS NULL AND ? IS NULL',
    'SELECT nope, ?, ?',
  ]
  const random = Array.from({ length: 120 }, () => ({ sql: pick(texts), args: [pick(values), pick(values)] }))
  const plain = (answers: PromiseSettledResult<Awaited<ReturnType<Questions['execute']>>>[]) =>
    answers.map((answer) =>
      answer.status === 'rejected' ? answer.reason.code : {
        ...answer.value,
        rows: answer.value.rows.map((row) => [...Array.from(row), { ...row }]),
        toJSON: undefined,
      }
    )

  const together = await Promise.allSettled(random.map((question) => questions.execute(question)))
  const alone = []
  for (const question of random) alone.push(...await Promise.allSettled([driver.execute(question)]))

  // A code that is not SQLite's own is a fault of the database to the callers of the store.
  const expected = plain(alone).map((answer) => answer === 'SQL_INPUT_ERROR' ? 'unavailable' : answer)
  expect(plain(together)).toEqual(expected)
  expect(new Set(expected.map((answer) => typeof answer))).toEqual(new Set(['object', 'string']))
})

test.each([
  ['about what is not there', 'SELECT nope', { code: 'unavailable' }, 1],
  ['whose answer is too large', 'SELECT hex(zeroblob(6000000))', { code: 'SQLITE_TOOBIG' }, 1],
  // The three behind it are asked again, and then it is.
  ['whose answer cannot be represented', 'SELECT 9223372036854775807', { name: 'RangeError' }, 5],
  // The server looks at all texts before it begins.
  ['that is no SQL', 'SELECT FROM', { code: 'unavailable' }, 7],
])('a question %s fails alone', async (_, sql, error, sent) => {
  const answers = await Promise.allSettled([echo(1), echo(2), questions.execute(sql), echo(3), echo(4), echo(5)])

  expect(answers.map((answer) => answer.status === 'fulfilled' ? answer.value : undefined))
    .toEqual([1, 2, undefined, 3, 4, 5])
  expect((answers[2] as PromiseRejectedResult).reason).toMatchObject(error)
  expect(requests).toHaveLength(sent)
})

test('answers that are too large together come all the same', async () => {
  const large = async () =>
    String((await questions.execute('SELECT hex(zeroblob(2000000)) AS text')).rows[0].text).length

  expect(await Promise.all([large(), large(), large(), echo(1)])).toEqual([4_000_000, 4_000_000, 4_000_000, 1])
})

test('a question sees every commit that was acknowledged before, whoever made it', async () => {
  const other = open()
  await driver.execute('INSERT INTO facts VALUES (1, 0) ON CONFLICT DO UPDATE SET value = 0')
  const value = async (at: Questions) =>
    Number((await at.execute('SELECT value FROM facts WHERE id = 1')).rows[0].value)
  let acknowledged = 0
  let isOver = false
  const looking = Array.from({ length: 16 }, async (_, n) => {
    const stale: number[] = []
    while (!isOver) {
      const least = acknowledged
      if (await value(n % 2 ? questions : other) < least) stale.push(least)
    }
    return stale
  })
  for (; acknowledged < 40; acknowledged++) {
    await driver.execute(`UPDATE facts SET value = ${acknowledged + 1} WHERE id = 1`)
  }
  isOver = true

  expect((await Promise.all(looking)).flat()).toEqual([])
  other.close()
})

test('requests that follow each other use one stream, and one that the server forgot is replaced', async () => {
  await echo(1)
  await echo(2)
  const baton = /"baton":"[^"]+"/
  expect(requests[1]).toMatch(baton)
  spoil = (body) => body.replace(baton, '"baton":"forgotten"')

  expect(await Promise.all([echo(3), echo(4)])).toEqual([3, 4])
  const [, , forgotten, anew, ...more] = asked()
  expect(forgotten).toMatch(baton)
  expect(anew).not.toMatch(baton)
  expect(more).toEqual([])
})

test('while the server is silent all that wait are told so at the end of one request, and the next is answered', async () => {
  patienceMs = 200
  opened = new Promise(() => {})

  const answers = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => echo(n)))

  expect(new Set(answers.map((answer) => (answer as PromiseRejectedResult).reason.code))).toEqual(
    new Set(['unavailable']),
  )
  expect((answers[0] as PromiseRejectedResult).reason.details).toMatchObject({
    nothingDone: true,
    retryAfterSeconds: 1,
  })
  expect(asked()).toHaveLength(1)
  opened = Promise.resolve()
  patienceMs = 60_000
  expect(await echo(1)).toBe(1)
})

test('after the end nothing is asked', async () => {
  const ended = open()
  ended.close()

  await expect(ended.execute('SELECT 1')).rejects.toMatchObject({ code: 'unavailable' })
  expect(requests).toEqual([])
})

function open(): Questions {
  const settings = {
    url: server.url,
    async fetch(request: Request) {
      const body = spoil(await request.text())
      requests.push(body)
      const silence = AbortSignal.timeout(patienceMs)
      await Promise.race([opened, new Promise((_, reject) => silence.onabort = () => reject(silence.reason))])
      return await fetch(request.url, { method: request.method, headers: request.headers, body })
    },
  }
  return openQuestions(settings, createClient(settings))
}

/** Without those that only say that a stream has ended. */
function asked(): string[] {
  return requests.filter((body) => body.includes('"steps"'))
}

async function echo(n: number): Promise<number> {
  const { rows } = await questions.execute({ sql: 'SELECT ? AS n', args: [n] })
  return Number(rows[0].n)
}
