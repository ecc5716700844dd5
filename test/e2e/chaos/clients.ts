/** Clients of a run: senders of every kind, and readers that wait for mail. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadedAgent } from '../load.ts'
import { messageSend, type Outcome, pauseMs, settled, tool } from './call.ts'
import type { Ledger, Shown } from './ledger.ts'

/** How a sender sends. With a key it repeats what had no answer; without one it goes on to its next message. */
export interface Manner {
  door: 'mcp' | 'a2a'
  hasKey: boolean
}

export interface Load {
  base: string
  ledger: Ledger
  /** Aborted when no new message is to be begun. */
  ended: AbortSignal
}

/** One acknowledged send in so many is repeated, which must change nothing. */
const repeatEvery = 10

/** Send to each target in turn, one message after the other, until the end or until `most` were tried. */
export async function send(
  { base, ledger, ended }: Load,
  sender: LoadedAgent,
  targets: { to: string; mailboxes: string[] }[],
  { door, hasKey }: Manner,
  most = Infinity,
): Promise<{ refusals: string[] }> {
  const refusals: string[] = []
  for (let n = 0; n < most && !ended.aborted; n++) {
    const { to, mailboxes } = targets[n % targets.length]
    const sent = ledger.begin(sender.alias, mailboxes, n)
    const key = hasKey ? randomUUID() : undefined
    const messageId = randomUUID()
    const attempt = (): Promise<Outcome> =>
      door === 'a2a'
        ? messageSend(base, sender.key, { messageId, to, text: sent.text }, key)
        : tool(base, sender.key, 'send_message', { to, message: sent.text, ...(key && { idempotency_key: key }) })

    const outcome = hasKey ? await settled(attempt, () => ledger.unknown++) : await attempt()
    if (outcome === 'unknown') {
      ledger.unknown++
      await sleep(pauseMs)
    } else if ('done' in outcome) {
      sent.id = outcome.done.message_id
    } else {
      refusals.push(outcome.refused)
    }
    if (sent.id === undefined || !hasKey || n % repeatEvery !== 0) continue
    const again = await settled(attempt, () => ledger.unknown++)
    if (!('done' in again) || again.done.message_id !== sent.id) {
      ledger.surprises.push(`${sent.text} repeated: ${JSON.stringify(again)}`)
    }
  }
  return { refusals }
}

/** Read until the end, waiting for mail. An answer that got lost is not asked for again: `since` has it. */
export async function read({ base, ledger, ended }: Load, reader: LoadedAgent): Promise<void> {
  while (!ended.aborted) {
    const outcome = await tool(base, reader.key, 'read_messages', { wait_seconds: 1 })
    if (outcome === 'unknown') await sleep(pauseMs)
    else if ('done' in outcome) ledger.handOut(reader.alias, outcome.done.messages)
    else ledger.surprises.push(`${reader.alias} reads: ${outcome.refused}`)
  }
}

/** Hand out what is left in a mailbox. With `untilMs` it goes on looking that long for what is given back late. */
export async function drain(base: string, ledger: Ledger, reader: LoadedAgent, untilMs = 0): Promise<void> {
  const until = performance.now() + untilMs
  for (;;) {
    const { messages } = await answered(() => tool(base, reader.key, 'read_messages', {}), ledger)
    ledger.handOut(reader.alias, messages)
    if (messages.length > 0) continue
    if (performance.now() >= until) return
    await sleep(500)
  }
}

/** A whole mailbox in the order of storing. */
export async function historyOf(base: string, ledger: Ledger, reader: LoadedAgent): Promise<Shown[]> {
  const history: Shown[] = []
  let since = '1h'
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
