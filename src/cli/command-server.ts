/**
 * While a server holds the local file, other processes cannot open it, so commands run through that server. It
 * listens on a loopback port of its own. Port and token are in `<db>.owner`, which only the file's owner can read.
 */
import { GridError } from '../errors.ts'
import { parseBody } from '../lib/http/body.ts'
import { isSameSecret, mintLinkToken } from '../lib/secrets.ts'
import { listen, type Listener } from '../listen.ts'
import type { FileOwner } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'
import {
  checkArguments,
  type CommandArguments,
  CommandError,
  type CommandResult,
  type StoreCommand,
} from './command.ts'
import { httpRequest } from './http-request.ts'

type CommandServerAddress = NonNullable<FileOwner['control']>
type CommandResponse = { result: CommandResult } | { error: { code: string; message: string } }

const host = '127.0.0.1'
const path = '/commands'
/** Rows of an import may have a large part. Only the owner of the file can send any. */
const limits = { maxBytes: 16 * 2 ** 20, maxDepth: 8, maxTokens: 500 }

/** Accept commands from other processes until the listener stops. Publishes the address in the owner file. */
export async function serveCommands(store: Store, commands: readonly StoreCommand[]): Promise<Listener> {
  const { token } = mintLinkToken()
  const listener = await listen((request) => handleRequest(store, commands, token, request), { port: 0, host })
  store.deps.ownPorts.add(listener.port)
  store.announce({ url: `http://${host}:${listener.port}${path}`, token })
  return listener
}

/**
 * Run a command in the server that holds the file. Fails as the command does. Resolves to undefined if there is no
 * server at that address, or not the expected one.
 */
export async function runOnServer(
  { url, token }: CommandServerAddress,
  command: StoreCommand,
  args: CommandArguments,
): Promise<CommandResult | undefined> {
  const response = await httpRequest(url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: { command: command.name, arguments: args },
  }).catch(() => undefined)
  if (response?.status !== 200) return undefined

  const body = JSON.parse(response.text) as CommandResponse
  if ('error' in body) throw new CommandError(body.error.code, body.error.message)
  return body.result
}

async function handleRequest(
  store: Store,
  commands: readonly StoreCommand[],
  token: string,
  request: Request,
): Promise<Response> {
  // A page in a browser on this machine can reach the port, but only under another host name (DNS rebinding).
  if (!/^127\.0\.0\.1:\d+$/.test(request.headers.get('host') ?? '')) return new Response(null, { status: 421 })
  if (request.method !== 'POST' || new URL(request.url).pathname !== path) return new Response(null, { status: 404 })
  const bearer = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? ''
  if (!isSameSecret(bearer, token)) return new Response(null, { status: 401 })

  const { bodies } = store.deps
  try {
    const body = parseBody(await bodies.readText(request, limits), limits)
    return Response.json({ result: await run(store, commands, body) } satisfies CommandResponse)
  } catch (error) {
    return Response.json({ error: describeError(store, error) } satisfies CommandResponse)
  } finally {
    bodies.release(request)
  }
}

function run(store: Store, commands: readonly StoreCommand[], body: unknown): Promise<CommandResult> {
  const { command: name, arguments: given } = Object(body) as { command?: unknown; arguments?: unknown }
  const command = commands.find((command) => command.name === name)
  if (!command) {
    throw new CommandError('usage', `The running server has no command "${name}". Does it have another version?`)
  }
  return command.run(store, checkArguments(command, Object(given)))
}

function describeError(store: Store, error: unknown): { code: string; message: string } {
  if (error instanceof GridError || error instanceof CommandError) return { code: error.code, message: error.message }
  store.deps.log.error('A command failed', { error })
  return { code: 'internal', message: 'The command failed. See the log of the server.' }
}
