/**
 * A program, run on each runtime, in which some accounts continuously check slow expressions and others check ordinary
 * ones. `HOSTILE_MS` sets the duration. The program prints the outcomes of the other accounts' checks, and the time of
 * the slowest check.
 */
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { GuardrailChecks } from '../../src/guardrails/providers.ts'

export interface OtherAccounts {
  /** The number of other accounts' checks by outcome. */
  answers: Record<string, number>
  slowestMs: number
  /** The number of hostile accounts' checks by outcome. */
  hostile: Record<string, number>
}

const text = Array.from({ length: 250_000 }, (_, n) => Math.imul(n + 1, 0x9e3779b1) >>> 31 ? 'a' : 'b').join('')
/** Slow expressions: each position in the text is a new state of the automaton. */
const slow = (n: number) => ({
  patterns: [1, 2, 3, 4].map((k) => `[a-bd-eg-hj-km-np-qs-tv-wy-z]{${400 + 4 * (n % 20) + k}}\\d`),
})
const usual = (n: number) => ({ patterns: [`swordfish`, '(?i)secret \\d+', '\\bkey-[a-z0-9]{8}\\b', `name${n}`] })
const hostileAccounts = 5
const otherAccounts = 3
const checksAtOnce = 8

async function main(): Promise<void> {
  const checks = new GuardrailChecks()
  const until = performance.now() + Number(process.env.HOSTILE_MS ?? 10_000)
  const found: OtherAccounts = { answers: {}, slowestMs: 0, hostile: {} }
  const check = async (counts: Record<string, number>, owner: string, config: object, words: string) => {
    const guarded = { text: words, direction: 'inbound', sender: '@a', recipient: '@b' } as const
    const given = { provider: 'patterns', config: JSON.stringify(config) }
    const outcome = await checks.check(owner, given, guarded, () => Promise.reject(new Error('It is local')))
      .then(({ kinds }) => kinds.length > 0 ? 'found' : 'passed', (error) => error.reason ?? error.constructor.name)
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  const asLongAsItTakes = async (step: (n: number) => Promise<void>) => {
    for (let n = 0; performance.now() < until; n++) await step(n)
  }
  const attacks = Array.from(
    { length: hostileAccounts * checksAtOnce },
    (_, at) =>
      asLongAsItTakes((n) => check(found.hostile, `hostile ${at % hostileAccounts}`, slow(at + n), text.slice(n % 50))),
  )
  const others = Array.from({ length: otherAccounts }, (_, at) =>
    asLongAsItTakes(async (n) => {
      await setTimeout(150 * at)
      const startedAt = performance.now()
      // These checks stand for a message with four guardrails.
      await Promise.all(
        [0, 1, 2, 3].map((k) => check(found.answers, `other ${at}`, usual(4 * at + k), `a swordfish ${n}`)),
      )
      found.slowestMs = Math.max(found.slowestMs, Math.round(performance.now() - startedAt))
    }))
  await Promise.all([...attacks, ...others])
  console.log(JSON.stringify(found))
}

void main().then(() => process.exit(0))
