/** The clients of a run: senders of every kind, and readers that wait for messages. */
import { randomUUID } from 'node:crypto'
import { type LoadedAgent, pause } from '../load.ts'
import type { Ledger, ReadMessage } from './ledger.ts'
import { messageSend, type Outcome, pauseMs, settled, tool } from './outcome.ts'

/** How a sender sends. It retries a send that got no response only if it uses idempotency keys. */
export interface SendMode {
  protocol: 'mcp' | 'a2a'
  hasKey: boolean
  /** How long the sender waits for the answer. Only possible over MCP. */
  waitSeconds?: number
  /** Pause between two messages, for a recipient that handles one at a time. */
  everyMs?: number
}

/** The recipient of a message. */
export interface Target {
  to: string
  inboxes: string[]
  isAnswered?: boolean
}

export interface Load {
  base: string
  ledger: Ledger
  /** Aborted when no new message may be sent. */
  ended: AbortSignal
}

/** Every tenth acknowledged send is sent again with the same idempotency key, which must have no effect. */
const repeatEvery = 10

/** Sends one message at a time, message `n` to `targets(n)`, until the end or until `maxMessages` were sent. */
export async function send(
  { base, ledger, ended }: Load,
  sender: LoadedAgent,
  targets: (n: number) => Target,
  { protocol, hasKey, waitSeconds, everyMs = 0 }: SendMode,
  maxMessages = Infinity,
): Promise<{ refusals: string[] }> {
  const refusals: string[] = []
  for (let n = 0; n < maxMessages && !ended.aborted; n++) {
    if (everyMs > 0) await pause(everyMs)
    const { to, inboxes, isAnswered } = targets(n)
    const sent = ledger.begin(sender.alias, inboxes, n)
    sent.isAnswered = isAnswered
    const key = hasKey ? randomUUID() : undefined
    const messageId = randomUUID()
    const attempt = (): Promise<Outcome> =>
      protocol === 'a2a'
        ? messageSend(base, sender.key, { messageId, to, text: sent.text }, key)
        : tool(base, sender.key, 'send_message', {
          to,
          message: sent.text,
          ...(key && { idempotency_key: key }),
          ...(waitSeconds && { wait_seconds: waitSeconds }),
        })

    const outcome = hasKey ? await settled(attempt, () => ledger.unknown++) : await attempt()
    if (outcome === 'unknown') {
      ledger.unknown++
      await pause(pauseMs)
    } else if ('done' in outcome) {
      sent.id = outcome.done.message_id
      ledger.read(sender.alias, outcome.done.answer ?? [])
    } else {
      refusals.push(outcome.refused)
    }
    if (sent.id === undefined || !hasKey || n % repeatEvery !== 0) continue
    const again = await settled(attempt, () => ledger.unknown++)
    if (!('done' in again) || again.done.message_id !== sent.id) {
      ledger.surprises.push(`${sent.text} repeated: ${JSON.stringify(again)}`)
    } else ledger.read(sender.alias, again.done.answer ?? [])
  }
  return { refusals }
}

/** Returns a function that chooses from several targets in turn. */
export function inTurn(targets: Target[]): (n: number) => Target {
  return (n) => targets[n % targets.length]
}

/**
 * Reads messages as they arrive until the load ends. Messages of a lost response are found later by a read with
 * `since`.
 */
export async function read({ base, ledger, ended }: Load, reader: LoadedAgent): Promise<void> {
  while (!ended.aborted) {
    const outcome = await tool(base, reader.key, 'read_messages', { wait_seconds: 1 })
    if (outcome === 'unknown') await pause(pauseMs)
    else if ('done' in outcome) ledger.read(reader.alias, outcome.done.messages)
    else ledger.surprises.push(`${reader.alias} reads: ${outcome.refused}`)
  }
}

/** Reads the rest of an inbox, and waits `untilMs` for messages that are released late. */
export async function drain(base: string, ledger: Ledger, reader: LoadedAgent, untilMs = 0): Promise<void> {
  const until = performance.now() + untilMs
  for (;;) {
    const { messages } = await answered(() => tool(base, reader.key, 'read_messages', {}), ledger)
    ledger.read(reader.alias, messages)
    if (messages.length > 0) continue
    if (performance.now() >= until) return
    await pause(500)
  }
}

/** Returns all messages of an inbox that were stored within `duration`, in storage order. */
export async function historyOf(
  base: string,
  ledger: Ledger,
  reader: LoadedAgent,
  duration = '1h',
): Promise<ReadMessage[]> {
  const history: ReadMessage[] = []
  let since = duration
  for (;;) {
    const page = await answered(() => tool(base, reader.key, 'read_messages', { since }), ledger)
    history.push(...page.messages)
    if (!page.has_more) return history
    since = page.cursor
  }
}

async function answered(attempt: () => Promise<Outcome>, ledger: Ledger) {
  const outcome = await settled(attempt, () => ledger.unknown++)
  if ('done' in outcome) return outcome.done
  throw new Error(outcome.refused)
}
