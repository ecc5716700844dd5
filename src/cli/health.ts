import process from 'node:process'
import { type Config, readConfig } from '../config.ts'
import { second } from '../lib/time.ts'
import { httpRequest } from './http-request.ts'
import { CommandError, type ProcessCommand, usageError } from './command.ts'
import { print } from './output.ts'

/** Checks a server for container health checks and for clients. Exit code 0 if it is ready, otherwise 1. */
export const health: ProcessCommand = {
  name: 'health',
  summary: 'Check whether the running server, or the grid at an address, is ready.',
  options: {
    url: { placeholder: 'URL', description: 'address of a grid; default: the server with these settings' },
  },
  async start(json, { url }) {
    const server = url === undefined ? ownServer(readConfig(process.env)) : serverAt(url)
    const answer = await askReady(server)
    if (!answer) throw new CommandError('not_running', `No server answers ${server.name}.`)
    const { status, text } = answer
    if (!isOfGrid(answer)) {
      throw new CommandError(
        'not_running',
        `The program that answers ${server.name} is not an agent-grid. Stop it, or check the grid at its own address.`,
      )
    }
    if (status !== 200) throw new CommandError('not_ready', `The server is not ready: ${text}`)
    print(json ? text : 'The server is ready.')
    return 0
  },
}

/** A server, and its name in messages. */
interface Server {
  name: string
  address: string
}

/** Requests `/readyz` from a server; undefined if there is no response. */
export function askReady({ address }: Server): Promise<{ status: number; text: string } | undefined> {
  return httpRequest(`${address}/readyz`, { timeoutMs: 5 * second }).catch(() => undefined)
}

/** Whether the response comes from a grid, and not from another program at its address. */
export function isOfGrid({ text }: { text: string }): boolean {
  try {
    return typeof JSON.parse(text).status === 'string'
  } catch {
    return false
  }
}

export function ownServer(config: Config): Server {
  return {
    name: `on port ${config.port}`,
    address: `http://${connectableHost(config)}:${config.port}`,
  }
}

function serverAt(url: string): Server {
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    throw usageError(`--url must be an address such as https://grid.example.com, not "${url}".`)
  }
  const { origin } = new URL(url)
  return { name: `at ${origin}`, address: origin }
}

function connectableHost({ host }: Config): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
