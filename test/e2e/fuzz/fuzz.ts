/** The fuzz test: changed requests over all doors, and what must never come back. */
import { liveGrid } from '../../support/server.ts'
import { FuzzClient } from './client.ts'
import { corpusOf, type FuzzRequest } from './corpus.ts'
import { mutated } from './mutate.ts'
import { randomOf } from './random.ts'

/** What was sent, and what was wrong about the answer. */
export interface FuzzFault {
  /** The number of the request, which repeats it with the same seed. */
  n: number
  door: string
  what: string
  request: string
  answer: string
}

export interface FuzzReport {
  faults: FuzzFault[]
  /** Answers by door and class of status, to see that requests reach what is behind a door. */
  answers: Record<string, Record<string, number>>
}

/** So many requests are sent to one grid: some of them delete what others need. */
const requestsPerGrid = 5_000
const connections = 8

/** The limits would answer most requests. Time passes with each of them. */
const env = {
  CALLS_PER_SECOND: '0',
  MESSAGES_PER_DAY: '0',
  MEGABYTES_PER_DAY: '0',
  UNREAD_PER_INBOX: '0',
  AGENTS_PER_ACCOUNT: '0',
  SIGNUP_PER_HOUR: '10000',
  MAILS_PER_HOUR: '100000',
}
const msPerRequest = 50

/** Send changed requests, and collect what is wrong. The same seed makes the same changes. */
export async function fuzz(requests: number, seed: number, tell: (line: string) => void): Promise<FuzzReport> {
  const report: FuzzReport = { faults: [], answers: {} }
  for (let from = 0; from < requests; from += requestsPerGrid) {
    await fuzzOneGrid(from, Math.min(from + requestsPerGrid, requests), seed, report)
    tell(`${Math.min(from + requestsPerGrid, requests)} requests, ${report.faults.length} faults`)
  }
  return report
}

async function fuzzOneGrid(from: number, to: number, seed: number, { faults, answers }: FuzzReport): Promise<void> {
  const grid = await liveGrid({ env })
  const { port, host } = new URL(grid.url)
  const corpus = (await corpusOf(grid)).flatMap(({ request, weight }) => Array<FuzzRequest>(weight).fill(request))
  const before = corpus.filter(({ isLast }) => !isLast)
  const seenErrors = new Set(grid.logs.filter(isError))
  const inPrototype = Object.getOwnPropertyNames(Object.prototype).length
  let next = from

  async function work(): Promise<void> {
    const client = new FuzzClient(Number(port))
    while (next < to) {
      const n = next++
      const random = randomOf(seed, n)
      const base = random.pick(to - n < requestsPerGrid / 10 ? corpus : before)
      const request = mutated(base, host, random)
      grid.clock.now += msPerRequest
      const answer = await client.send(request)
      const fault = (what: string) =>
        faults.push({
          n,
          door: base.door,
          what,
          request: Buffer.from(request.bytes).toString('latin1').slice(0, 2_000),
          answer: answer.text.slice(0, 1_000),
        })
      const byStatus = answers[base.door] ??= {}
      byStatus[`${answer.status}`] = (byStatus[`${answer.status}`] ?? 0) + 1
      if (answer.isLate) fault('no answer in time')
      else if (answer.status === 0 && !request.isBroken) fault('closed without an answer')
      if (answer.status >= 500) fault(`status ${answer.status}`)
      if (/"code":-32603/.test(answer.text)) fault('-32603')
      for (const line of grid.logs) {
        if (!isError(line) || seenErrors.has(line)) continue
        seenErrors.add(line)
        fault(`logged: ${line.slice(0, 1_500)}`)
      }
      // They would be searched again after each request.
      grid.logs.length = 0
    }
    client.close()
  }
  await Promise.all(Array.from({ length: connections }, work))
  if (Object.getOwnPropertyNames(Object.prototype).length !== inPrototype) {
    faults.push({ n: to, door: 'all', what: 'a prototype was changed', request: '', answer: '' })
  }
  await grid.close()
}

function isError(line: string): boolean {
  return line.includes('"level":"error"')
}
