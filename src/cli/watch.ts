import { setTimeout as pause } from 'node:timers/promises'
import { printable } from '../clients/grid-answer.ts'
import type { GridClient, Peek } from '../clients/grid-client.ts'
import type { ProcessCommand } from './command.ts'
import { accessOptions, callGrid, mayRepeat } from './grid-access.ts'

/** How long to wait before a lost stream is opened again: at first, and at most, in milliseconds. */
const firstPauseMs = 1_000
const longestPauseMs = 60_000
/** How many senders a line names. */
const maxNamed = 5

export const watch: ProcessCommand = {
  name: 'watch',
  summary: 'Print a line whenever an agent has unread messages.',
  options: {
    once: { placeholder: '', description: 'end with the first line', flag: true },
    ...accessOptions,
  },
  async start(json, args) {
    await callGrid(args, async (client) => {
      for await (const peek of wakes(client)) {
        console.log(json ? JSON.stringify(peek) : lineOf(peek))
        if (args.once !== undefined) return
      }
    })
    return 0
  },
}

/** What waits, at each wake. A lost stream is opened again. Fails with the error of a call that may not be repeated. */
async function* wakes(client: GridClient): AsyncGenerator<Peek> {
  let pauseMs = firstPauseMs
  for (;;) {
    try {
      for await (const event of client.wakeStream()) {
        pauseMs = firstPauseMs
        if (event !== 'unread') continue
        const peek = await client.peek()
        // Somebody else may have read them meanwhile.
        if (peek.messages.length > 0) yield peek
      }
    } catch (error) {
      if (!mayRepeat(error)) throw error
    }
    // Random, so that not all come back to a restarted grid at one moment.
    await pause(pauseMs * (0.5 + Math.random() / 2))
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
  }
}

function lineOf({ agent, unread, messages }: Peek): string {
  const senders = [...new Set(messages.map(({ user }) => user))]
  const more = senders.length > maxNamed ? ` and ${senders.length - maxNamed} more` : ''
  const n = unread >= 100 ? '100 or more' : unread
  return printable(`${agent}: ${n} unread from ${senders.slice(0, maxNamed).join(', ')}${more}`)
}
