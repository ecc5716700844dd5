/** Mutated requests to all interfaces. Some responses must never occur. `npm run lab -- fuzz` sends more. */
import process from 'node:process'
import { expect, test } from 'vitest'
import { keepFigures } from '../support/proof-log.ts'
import { liveGrid } from '../support/server.ts'
import { exchange } from './fuzz/client.ts'
import { corpusOf, type FuzzRequest } from './fuzz/corpus.ts'
import { mutated, randomOf, written } from './fuzz/mutate.ts'

const { FUZZ_FIRST, FUZZ_REQUESTS, FUZZ_SEED } = process.env
const first = Number(FUZZ_FIRST ?? 0)
const requests = Number(FUZZ_REQUESTS ?? 1_000)
const seed = Number(FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** Maximum number of requests to one grid, because some requests delete data that others need. */
const requestsPerGrid = 5_000
const connections = 8
const runtime = ['bun', 'deno'].find((name) => name in process.versions) ?? 'node'
const msPerRequest = 50

/** Without these settings, most requests would only reach a limit. */
const env = {
  CALLS_PER_SECOND: '0',
  MESSAGES_PER_DAY: '0',
  MEGABYTES_PER_DAY: '0',
  UNREAD_PER_INBOX: '0',
  AGENTS_PER_ACCOUNT: '0',
  SIGNUP_PER_HOUR: '10000',
}

/** The first fault of each kind. The seed and the request's number reproduce the fault. */
const faults = new Map<string, { n: number; request: string; answer: string }>()
/** Whether each interface has served an unchanged request. */
const served = new Map<string, boolean>()

test('mutated requests to all interfaces cause no 500, no -32603 and no crash', async () => {
  console.log(
    `Seed ${seed}: npm run lab -- fuzz --first ${first} --requests ${requests} --runtime ${runtime} --seed ${seed}`,
  )
  for (let from = first; from < first + requests; from += requestsPerGrid) {
    const to = Math.min(from + requestsPerGrid, first + requests)
    await fuzzOneGrid(from, to)
    console.log(`${to - first} requests, ${faults.size} kinds of faults`)
  }

  expect([...faults]).toEqual([])
  expect([...served].filter(([, isServed]) => !isServed)).toEqual([])
  expect(served.size).toBeGreaterThan(8)
  keepFigures('fuzz', runtime, seed, { requests })
}, 120_000 + requests * 20)

async function fuzzOneGrid(from: number, to: number): Promise<void> {
  const grid = await liveGrid({ env, limits: { emailsPerHour: 100_000 } })
  const { port, host } = new URL(grid.url)
  const corpus = new Map<string, FuzzRequest[]>()
  for (const one of await corpusOf(grid)) corpus.set(one.door, [...corpus.get(one.door) ?? [], one])
  const doors = [...corpus.keys()]
  grid.logs.length = 0
  const inPrototype = Object.getOwnPropertyNames(Object.prototype).length
  // Check that each interface serves an unchanged request. Otherwise the test might only cover refused credentials.
  for (const [door, all] of corpus) {
    for (const one of all.filter(({ isLast }) => !isLast)) {
      const { status } = await exchange(Number(port), written(one, host))
      served.set(door, status >= 200 && status < 400)
      if (served.get(door)) break
    }
  }

  let next = from
  async function work(): Promise<void> {
    while (next < to) {
      const n = next++
      const random = randomOf(seed, n)
      const base = chosen(random.pick(doors), n, random.pick)
      const request = mutated(base, host, random)
      grid.clock.now += msPerRequest
      const answer = await exchange(Number(port), request)
      const text = Buffer.from(request.bytes).toString('latin1').slice(0, 2_000)
      const fault = (what: string) =>
        faults.set(`${base.door} ${what}`, { n, request: text, answer: answer.text.slice(0, 1_000) })
      // Bun's own server parses the first line. It closes the connection for an unknown method, and answers 505 to an
      // unknown version.
      const isOfBun = runtime === 'bun' && (/^get /.test(text) || answer.status === 505)
      if (answer.isLate) fault('no answer in time')
      else if (answer.status === 0 && !request.isBroken && !isOfBun) fault('closed without an answer')
      // The single sign-on provider does not respond in this test.
      const isOfProvider = answer.status === 503 && /^\S+ \/sso\//.test(text)
      if (answer.status >= 500 && !isOfProvider && !isOfBun) fault(`status ${answer.status}`)
      if (/"code":-32603/.test(answer.text)) fault('-32603')
      for (const line of grid.logs.splice(0)) {
        if (line.includes('"level":"error"')) {
          fault(`logged: ${line.slice(0, 1_500).replace(/"(time|requestId)":"[^"]*"/g, '')}`)
        }
      }
    }
  }

  function chosen(door: string, n: number, pick: <T>(items: readonly T[]) => T): FuzzRequest {
    const all = corpus.get(door)!
    const before = all.filter(({ isLast }) => !isLast)
    return pick(to - n < requestsPerGrid / 10 ? all : before)
  }

  await Promise.all(Array.from({ length: connections }, work))
  expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(inPrototype)
  await grid.close()
}
