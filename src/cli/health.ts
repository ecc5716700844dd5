import process from 'node:process'
import { type Config, readConfig } from '../config.ts'
import { second } from '../lib/time.ts'
import { httpRequest } from './http-request.ts'
import { CommandError, type ProcessCommand } from './command.ts'

/** Exit code 0 if the server with these settings is ready, otherwise 1. For health checks of containers. */
export const health: ProcessCommand = {
  name: 'health',
  summary: 'Check whether the running server is ready.',
  options: {},
  async start(json) {
    const config = readConfig(process.env)
    const answer = await askReady(config)
    if (!answer) throw new CommandError('not_running', `No server responds on port ${config.port}.`)
    const { status, text } = answer
    if (status !== 200) throw new CommandError('not_ready', `The server is not ready: ${text}`)
    console.log(json ? text : 'The server is ready.')
    return 0
  },
}

/** Ask `/readyz` of the server with these settings; undefined if none answers. */
export function askReady(config: Config): Promise<{ status: number; text: string } | undefined> {
  return httpRequest(`http://${connectableHost(config)}:${config.port}/readyz`, {
    headers: { Host: new URL(config.baseUrl).host },
    timeoutMs: 5 * second,
  }).catch(() => undefined)
}

/** The host at which this machine reaches a server that listens on HOST. */
function connectableHost({ host }: Config): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
