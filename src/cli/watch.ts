import { setTimeout as pause } from 'node:timers/promises'
import { printable } from '../clients/grid-answer.ts'
import { mayRepeat } from '../clients/grid-call.ts'
import { GridClient, type Peek } from '../clients/grid-client.ts'
import { reconnectMs } from '../clients/pause.ts'
import type { ProcessCommand } from './command.ts'
import { accessOptions, gridAccess } from './grid-access.ts'

const maxNamed = 5

export const watch: ProcessCommand = {
  name: 'watch',
  summary: 'Print a line whenever an agent has unread messages.',
  options: {
    once: { placeholder: '', description: 'end with the first line', flag: true },
    ...accessOptions,
  },
  async start(json, args) {
    for await (const peek of wakes(new GridClient(gridAccess(args)))) {
      console.log(json ? JSON.stringify(peek) : lineOf(peek))
      if (args.once !== undefined) break
    }
    return 0
  },
}

/** What waits, at each wake. A lost stream is opened again. Fails with the error of a call that may not be repeated. */
async function* wakes(client: GridClient): AsyncGenerator<Peek> {
  for (let failures = 1;; failures++) {
    try {
      for await (const event of client.wakeStream()) {
        failures = 0
        if (event !== 'unread') continue
        const peek = await client.peek()
        // Another reader may have taken them.
        if (peek.messages.length > 0) yield peek
      }
    } catch (error) {
      if (!mayRepeat(error)) throw error
    }
    await pause(reconnectMs(failures))
  }
}

function lineOf({ agent, unread, messages }: Peek): string {
  const senders = [...new Set(messages.map(({ user }) => user))]
  const more = senders.length > maxNamed ? ` and ${senders.length - maxNamed} more` : ''
  const n = unread >= 100 ? '100 or more' : unread
  return printable(`${agent}: ${n} unread from ${senders.slice(0, maxNamed).join(', ')}${more}`)
}
