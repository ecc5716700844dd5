/**
 * A program, run on each runtime, that attacks with expressions that users can save. For each attack it prints how long
 * the event loop was blocked, how long the attack took, and the response that the attacker got.
 */
import process from 'node:process'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import { tryGuardrail } from '../../src/grid/guardrails/try-guardrail.ts'
import { maxGuardedLength } from '../../src/grid/message/guarded-text.ts'
import { type TestAccount, type TestAgent, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'

export interface Attacked {
  heldMs: number
  tookMs: number
  answer: string
}

const random = Array.from({ length: 250_000 }, (_, n) => Math.imul(n + 1, 0x9e3779b1) >>> 31 ? 'a' : 'b').join('')
/** Slow expressions: each position in the text is a new state of the automaton, and every position is tried. */
const slow = (n: number) => ({
  patterns: [1, 2, 3, 4].map((k) => `[a-bd-eg-hj-km-np-qs-tv-wy-z]{${400 + 4 * n + k}}\\d`),
})
const everywhere = (n: number) => ({ patterns: [`[ab]${'z?'.repeat(n)}`] })
/** An expression that compiles to a large program and matches nothing. */
const dear = { patterns: Array(50).fill(`x(?:${'(?i:[\\x41-\\x{ffff}])'.repeat(23)}){0}`) }

async function attacked(run: () => Promise<unknown>): Promise<Attacked> {
  let heldMs = 0
  let last = performance.now()
  const ticks = setInterval(() => {
    heldMs = Math.max(heldMs, performance.now() - last)
    last = performance.now()
  }, 1)
  const startedAt = performance.now()
  const answer = await run().then((result) => JSON.stringify(result), ({ code, message }) => `${code}: ${message}`)
  const tookMs = performance.now() - startedAt
  // Waits for one more tick, to measure the delay of the last one.
  await new Promise((resolve) => setTimeout(resolve, 5))
  clearInterval(ticks)
  return { heldMs: Math.round(heldMs), tookMs: Math.round(tookMs), answer: answer.slice(0, 1_000) }
}

async function attach({ store }: TestAccount, agent: string, configs: unknown[], onFailure: 'open' | 'closed') {
  const made = configs.map((config, n) =>
    createGuardrail(store, {
      name: `${agent} ${onFailure} ${configs.length} ${n}`,
      provider: 'patterns',
      action: 'redact',
      config,
      onFailure,
    })
  )
  const guardrails = (await Promise.all(made)).map(({ id }) => ({ ref: id, direction: 'inbound' as const }))
  await setAgentGuardrails(store, { agent, guardrails })
}

async function main(): Promise<void> {
  const { acme, evil, store, ...grid } = await testGrid()
  const send = (account: TestAccount, { id, alias }: TestAgent, to: string, text: string) =>
    sendMessage(store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test' }), {
      to,
      text: 'hi',
      a2a: { parts: [{ text }] } as never,
    })
  const attack = () => send(evil, grid.eve, '@mallory', random.slice(0, maxGuardedLength - 100))
  await evil.agent('mallory')
  const found: Record<string, Attacked> = {}
  const report = async (name: string, run: () => Promise<unknown>) => void (found[name] = await attacked(run))

  await report('nothing', attack)
  await attach(evil, 'mallory', [slow(0)], 'closed')
  await report('closed', attack)
  await attach(evil, 'mallory', [slow(0)], 'open')
  await report('open', attack)
  await attach(acme, 'bob', [{ patterns: ['swordfish'] }], 'open')
  await attach(evil, 'mallory', [0, 1, 2, 3, 4, 5, 6, 7].map(slow), 'open')
  await report('many', async () => {
    const attacks = [attack(), attack()]
    await Promise.race([...attacks, new Promise((resolve) => setTimeout(resolve, 200))])
    await report('others', () => send(acme, grid.alice, '@bob', 'the swordfish'))
    return await Promise.all(attacks)
  })
  await attach(evil, 'mallory', Array.from({ length: 40 }, (_, n) => everywhere(n)), 'closed')
  await report('everywhere', attack)
  await report('create', () => createGuardrail(evil.store, { name: 'dear', provider: 'patterns', config: dear }))
  await report('try', () => tryGuardrail(evil.store, { provider: 'patterns', config: slow(0) }, random))
  await grid.close()
  console.log(JSON.stringify(found))
}

void main().then(() => process.exit(0))
