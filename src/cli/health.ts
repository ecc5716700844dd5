import process from 'node:process'
import { type Config, readConfig } from '../config.ts'
import { second } from '../lib/time.ts'
import { ask } from './ask.ts'
import { CommandError, type ProcessCommand } from './command.ts'

/** Exit code 0 when the server of this environment is ready, 1 when not. For container health checks. */
export const health: ProcessCommand = {
  name: 'health',
  summary: 'Ask the running server whether it is ready.',
  options: {},
  async start(json) {
    const config = readConfig(process.env)
    const { status, text } = await ask(`http://${reachable(config)}:${config.port}/readyz`, {
      headers: { Host: new URL(config.baseUrl).host },
      timeoutMs: 5 * second,
    }).catch(() => {
      throw new CommandError('not_running', `No server answers on port ${config.port}.`)
    })
    if (status !== 200) throw new CommandError('not_ready', `The server is not ready: ${text}`)
    console.log(json ? text : 'The server is ready.')
    return 0
  },
}

/** Where this machine reaches a server that listens on HOST. */
function reachable({ host }: Config): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
