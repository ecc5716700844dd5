/** Keeps the example grid active while it is served. Its agents continue to talk over REST, and answer people. */
import { setTimeout as sleep } from 'node:timers/promises'
import { httpRequest } from '../http-request.ts'
import { second } from '../../lib/time.ts'
import { type AgentName, agents, exchanges, remotes } from './cast.ts'

/** Minimum and maximum delay in ms, between two exchanges and before an answer. */
type Pauses = Record<'exchange' | 'answer', readonly [number, number]>

const pauses: Pauses = { exchange: [20 * second, 60 * second], answer: [3 * second, 9 * second] }
const waitSeconds = 50

/** The fields that this file uses, from the responses to sends and leases. */
interface Answer {
  message_id?: string
  lease_id?: string | null
  messages?: { message_id: string; channel: string; user: string; type: string }[]
}

/** Lets the agents with these keys talk on the grid until `signal` aborts. */
export async function talkOn(
  url: string,
  keys: Record<string, string>,
  signal: AbortSignal,
  { exchange: pause, answer }: Pauses = pauses,
): Promise<void> {
  const between = ([least, most]: readonly [number, number]) => least + Math.floor(Math.random() * (most - least))
  const rest = (ms: number) => sleep(ms, undefined, { signal })
  const attending = (Object.keys(agents) as AgentName[])
    .filter((name) => name in keys && !(name in remotes) && name !== 'design-critic')
  const isAttending = (name: string) => (attending as string[]).includes(name)
  const deck = exchanges.filter(([from, to]) => isAttending(from) && (to.startsWith('#') || isAttending(to)))
    .flatMap((exchange) => Array.from({ length: exchange[2] }, () => exchange))

  async function post(agent: AgentName, path: string, body: object): Promise<Answer> {
    const headers = { Authorization: `Bearer ${keys[agent]}` }
    const timeoutMs = (waitSeconds + 10) * second
    const { status, text } = await httpRequest(`${url}/api/v1/${path}`, {
      method: 'POST',
      headers,
      body,
      timeoutMs,
      signal,
    })
    if (status >= 400) throw new Error(`${status} at ${path}`)
    return JSON.parse(text)
  }

  async function attend(agent: AgentName): Promise<void> {
    const { lease_id, messages = [] } = await post(agent, 'inbox/leases', { wait_seconds: waitSeconds })
    if (!lease_id) return await rest(second)
    const asked = messages.filter(({ type, channel }) => type === 'human' && channel === 'direct')
    if (asked.length > 0) await rest(between(answer))
    for (const { user, message_id } of asked) {
      const message = 'I am on it, and will write when it is done.'
      await post(agent, 'messages', { to: user, message, reply_to_message_id: message_id })
    }
    await post(agent, `inbox/leases/${lease_id}/ack`, {})
  }

  async function exchange(): Promise<void> {
    await rest(between(pause))
    const [from, to, , ...says] = deck[Math.floor(Math.random() * deck.length)]
    const number = String(100 + Math.floor(Math.random() * 900))
    let before: string | undefined
    for (const [turn, text] of says.entries()) {
      const isChannel = to.startsWith('#')
      const [speaker, hearer] = isChannel || turn % 2 === 0 ? [from, to] : [to as AgentName, from]
      const said = { to: isChannel ? to : `@${hearer}`, message: text.replaceAll('{n}', number) }
      const { message_id } = await post(speaker, 'messages', { ...said, reply_to_message_id: before })
      if (!isChannel) before = message_id
      await rest(between(answer))
    }
  }

  /** Repeats a run until `signal` aborts, and pauses after each failure. */
  async function again(run: () => Promise<void>): Promise<void> {
    while (!signal.aborted) await run().catch(() => rest(between(answer))).catch(() => {})
  }
  await Promise.all([
    ...attending.map((agent) => again(() => attend(agent))),
    ...deck.length > 0 ? [again(exchange)] : [],
  ])
}
