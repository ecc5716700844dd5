/**
 * Commands while a server holds the local file: they go through it. The server
 * takes them on a loopback port of its own; port and token stand in `<db>.owner`,
 * which only the owner of the database can read.
 */
import { isSameSecret, mintLinkToken } from '../auth/secrets.ts'
import { GridError } from '../errors.ts'
import { apiLimits, parseBody, readText } from '../lib/body.ts'
import { listen, type Listener } from '../listen.ts'
import type { Owner } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'
import { ask } from './ask.ts'
import { type Arguments, checkArguments, CommandError, type Result, type StoreCommand } from './command.ts'

type Access = NonNullable<Owner['control']>
type Answer = { result: Result } | { error: { code: string; message: string } }

const host = '127.0.0.1'
const path = '/commands'

/** Take commands until the listener is stopped, and tell other processes where. */
export async function takeCommands(store: Store, commands: readonly StoreCommand[]): Promise<Listener> {
  const { token } = await mintLinkToken()
  const listener = await listen((request) => answer(store, commands, token, request), { port: 0, host })
  store.deps.ownPorts.add(listener.port)
  store.announce({ url: `http://${host}:${listener.port}${path}`, token })
  return listener
}

/**
 * Have the server that holds the file run a command. Fails as the command does;
 * undefined when nobody answers there, or somebody else.
 */
export async function runThere(access: Access, command: StoreCommand, args: Arguments): Promise<Result | undefined> {
  const response = await ask(access.url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${access.token}` },
    body: { command: command.name, arguments: args },
  }).catch(() => undefined)
  if (response?.status !== 200) return undefined

  const reply = JSON.parse(response.text) as Answer
  if ('error' in reply) throw new CommandError(reply.error.code, reply.error.message)
  return reply.result
}

async function answer(
  store: Store,
  commands: readonly StoreCommand[],
  token: string,
  request: Request,
): Promise<Response> {
  // A page in a browser on this machine can reach the port, but only under another name (DNS rebinding).
  if (!/^127\.0\.0\.1:\d+$/.test(request.headers.get('host') ?? '')) return new Response(null, { status: 421 })
  if (request.method !== 'POST' || new URL(request.url).pathname !== path) return new Response(null, { status: 404 })
  const bearer = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? ''
  if (!isSameSecret(bearer, token)) return new Response(null, { status: 401 })

  try {
    const body = parseBody(await readText(request, apiLimits), apiLimits)
    return Response.json({ result: await run(store, commands, body) } satisfies Answer)
  } catch (error) {
    return Response.json({ error: said(store, error) } satisfies Answer)
  }
}

function run(store: Store, commands: readonly StoreCommand[], body: unknown): Promise<Result> {
  const { command: name, arguments: given } = Object(body) as { command?: unknown; arguments?: unknown }
  const command = commands.find((command) => command.name === name)
  if (!command) throw new CommandError('usage', `The running server has no command "${name}". Is it another version?`)
  return command.run(store, checkArguments(command, Object(given)))
}

function said(store: Store, error: unknown): { code: string; message: string } {
  if (error instanceof GridError || error instanceof CommandError) return { code: error.code, message: error.message }
  store.deps.log.error('A command failed', { error })
  return { code: 'internal', message: 'The command failed; the log of the server says why.' }
}
