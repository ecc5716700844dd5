/** Senders that record acknowledged messages, and functions that compare these messages with the inbox. */
import { setTimeout } from 'node:timers/promises'
import { callTool } from './client.ts'

/** Waits between two steps of a load, such as before a call is retried or a fault is caused. */
export async function pause(ms: number): Promise<void> {
  await setTimeout(ms)
}

export interface LoadedAgent {
  alias: string
  key: string
}

/** The messages that the senders sent. Every text is unique. */
export class Ledger {
  readonly attempted = new Set<string>()
  readonly acknowledged = new Set<string>()
}

/** Sends messages over MCP from several senders at once, until the server is gone or `stop()` is called. */
export function sendUntilGone(
  base: string,
  senders: LoadedAgent[],
  to: string,
  ledger: Ledger,
): { firstAnswer: Promise<void>; stop(): void; done: Promise<void> } {
  let stopped = false
  let onFirstAnswer = () => {}
  const firstAnswer = new Promise<void>((resolve) => onFirstAnswer = resolve)

  async function send(sender: LoadedAgent): Promise<void> {
    while (!stopped) {
      const text = `${sender.alias} ${ledger.attempted.size}`
      ledger.attempted.add(text)
      try {
        const answer = await callTool(base, sender.key, 'send_message', { to, message: text })
        if (!answer.message_id) continue
        ledger.acknowledged.add(text)
        onFirstAnswer()
      } catch {
        return
      }
    }
  }

  const done = Promise.all(senders.map(send)).then(() => {})
  return { firstAnswer, stop: () => stopped = true, done }
}

/** Reads all unread messages. Resolves to the number of occurrences of each text. */
export async function readAll(base: string, reader: LoadedAgent): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  for (;;) {
    const { messages } = await callTool(base, reader.key, 'read_messages')
    if (messages.length === 0) return times
    for (const { message } of messages) times.set(message, (times.get(message) ?? 0) + 1)
  }
}

/** Finds faults that must never occur: messages that were acknowledged but lost, stored twice, or never sent. */
export function faults(ledger: Ledger, times: Map<string, number>) {
  return {
    lost: [...ledger.acknowledged].filter((text) => !times.has(text)),
    twice: [...times].filter(([, n]) => n > 1).map(([text]) => text),
    invented: [...times.keys()].filter((text) => !ledger.attempted.has(text)),
  }
}

export const noFaults = { lost: [], twice: [], invented: [] }
