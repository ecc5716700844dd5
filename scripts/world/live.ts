/** Keeps the example grid alive while it is served: its agents go on talking, over REST. */
import { setTimeout as sleep } from 'node:timers/promises'
import { second } from '../../src/lib/time.ts'
import { type AgentName, exchanges, remotes } from './cast.ts'

/** In milliseconds, the shortest and the longest: between two exchanges, and between two messages of one. */
const pauses: Pauses = { exchange: [20 * second, 60 * second], answer: [3 * second, 9 * second] }

type Pauses = Record<'exchange' | 'answer', readonly [number, number]>

/**
 * Lets agents with these keys talk at the grid of this URL until `signal` aborts. A grid that does not answer is left alone
 * until the next exchange.
 */
export async function talkOn(
  url: string,
  keys: Record<string, string>,
  signal: AbortSignal,
  { exchange: pause, answer }: Pauses = pauses,
): Promise<void> {
  const between = ([least, most]: readonly [number, number]) => Math.round(least + Math.random() * (most - least))
  const some = exchanges.filter(([from, to]) => from in keys && (to.startsWith('#') || to in keys) && !(to in remotes))
  const deck = some.flatMap((exchange) => Array.from({ length: exchange[2] }, () => exchange))

  async function post(
    agent: AgentName,
    path: string,
    body: object,
  ): Promise<{ message_id?: string; lease_id?: string }> {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${keys[agent]}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(10 * second)]),
    })
    return response.ok ? await response.json() as Awaited<ReturnType<typeof post>> : {}
  }

  async function read(agent: AgentName): Promise<void> {
    const { lease_id } = await post(agent, 'inbox/leases', {})
    if (lease_id) await post(agent, `inbox/leases/${lease_id}/ack`, {})
  }

  async function exchange(): Promise<void> {
    const [from, to, , ...says] = deck[Math.floor(Math.random() * deck.length)]
    const number = String(100 + Math.floor(Math.random() * 900))
    let before: string | undefined
    for (const [turn, text] of says.entries()) {
      const isChannel = to.startsWith('#')
      const [speaker, hearer] = isChannel || turn % 2 === 0 ? [from, to] : [to as AgentName, from]
      const said = { to: isChannel ? to : `@${hearer}`, message: text.replaceAll('{n}', number) }
      const { message_id } = await post(speaker, 'messages', { ...said, reply_to_message_id: before })
      if (!isChannel) before = message_id
      await sleep(between(answer), undefined, { signal })
      await read(isChannel ? 'planner' : hearer as AgentName)
    }
  }

  while (deck.length > 0 && !signal.aborted) {
    // A refused message, a restart and the end are no reason to complain.
    await sleep(between(pause), undefined, { signal }).then(exchange).catch(() => {})
  }
}
