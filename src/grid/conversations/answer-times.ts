/** How long an agent takes to answer, from the counts of the page Network. */
import { day, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'

export interface AnswerTimes {
  /** The other agent (`@alias`) or channel (`#name`); undefined for the total. */
  name?: string
  answers: number
  /** The average per day of the last 7 days in UTC, oldest first. `averageMs` covers all days. 0 means no answers. */
  daysMs: number[]
  averageMs: number
}

const days = 7
const maxPeers = 3

/** Returns an agent's answer times: the total, then the recipients with the most answers. Empty without answers. */
export async function answerTimesOf(account: AccountStore, agentId: string): Promise<AnswerTimes[]> {
  const first = startOfDay(account.deps.now()) - (days - 1) * day
  const rows = await account.read.traffic.answers(agentId, first)
  const sum = (some: typeof rows, of: 'n' | 'ms') => some.reduce((sum, row) => sum + row[of], 0)
  const average = (some: typeof rows) => sum(some, 'ms') / Math.max(1, sum(some, 'n'))
  const timesOf = (some: typeof rows, name?: string): AnswerTimes => ({
    name,
    answers: sum(some, 'n'),
    daysMs: Array.from({ length: days }, (_, n) => average(some.filter(({ at }) => at === first + n * day))),
    averageMs: average(some),
  })
  if (rows.length === 0) return []
  const names = new Set(rows.map(({ name }) => name).filter((name) => /^[@#]/.test(name)))
  const ofPeers = [...names].map((name) => timesOf(rows.filter((row) => row.name === name), name))
    .sort((one, two) => two.answers - one.answers)
  return [timesOf(rows), ...ofPeers.slice(0, maxPeers)]
}
