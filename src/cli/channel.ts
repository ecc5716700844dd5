/** The grid as an MCP server over standard input and output. See docs/runners.md, "Channel". */
import process from 'node:process'
import { serveChannel } from '../clients/channel.ts'
import { GridClient } from '../clients/grid-client.ts'
import { clientProcess } from '../clients/state/lock.ts'
import { withAt } from '../clients/connections.ts'
import { accessOptions, gridAccess } from './grid-access.ts'
import type { ProcessCommand } from './command.ts'

/** Runs until its client closes standard input. */
export const channel: ProcessCommand = {
  name: 'channel',
  summary: 'Run an MCP server on standard input and output, for clients that cannot use a remote server.',
  options: {
    ...accessOptions,
    wake: {
      placeholder: '',
      description: 'also notify a session of Claude Code of new messages, as a channel (experimental)',
      flag: true,
    },
  },
  async start(_json, args) {
    const access = gridAccess(args)
    const grid = new GridClient(access)
    const alias = access.alias ?? (args.wake ? withAt((await grid.peek({ limit: 1 })).agent) : '@agent')
    const agent = { url: access.url, alias }
    const ending = new AbortController()
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(name, () => ending.abort())
    const client = args.wake ? clientProcess(process.env) : undefined
    await serveChannel({
      agent,
      key: access.key,
      input: process.stdin,
      output: process.stdout,
      signal: ending.signal,
      wake: client && { agent, grid, client: 'claude', process: client },
    })
    return 0
  },
}
