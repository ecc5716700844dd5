/**
 * Runs other processes' commands in the server that holds the local file, because they cannot open the file. It listens
 * on a separate loopback port. Port and token are in `<db>.owner`, which only the file's owner can read.
 */
import { GridError } from '../errors.ts'
import { parseBody } from '../lib/http/body.ts'
import { second } from '../lib/time.ts'
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
import { httpRequest, SilenceError } from './http-request.ts'
import { printError } from './output.ts'

type CommandServerAddress = NonNullable<FileOwner['control']>
/** The last line of a response. All lines before it are empty objects, which show that the command is running. */
type CommandResponse = { result: CommandResult } | { error: { code: string; message: string } }

const host = '127.0.0.1'
const path = '/commands'
const lineMs = 5 * second
/** Interval at which the user is notified that the command is still running. */
const progressMs = 10 * second
/** `maxBytes` is high, because an import may contain large parts. Only the file's owner can send requests. */
const limits = { maxBytes: 16 * 2 ** 20, maxDepth: 8, maxTokens: 500 }

/** Accepts commands from other processes until the listener stops. Publishes the port in the owner file. */
export async function serveCommands(store: Store, commands: readonly StoreCommand[]): Promise<Listener> {
  const { token } = mintLinkToken()
  const listener = await listen((request) => handleRequest(store, commands, token, request), { port: 0, host })
  store.deps.ownPorts.add(listener.port)
  store.announce({ url: `http://${host}:${listener.port}${path}`, token })
  return listener
}

/**
 * Runs a command in the server that holds the file, with no time limit. Fails with the command's error, with
 * `server_busy` if the server is silent, and with `server_ended` if the server ends before the command does. Resolves
 * to undefined if no server listens on the port, or if the server there does not hold the file.
 */
export async function runOnServer(
  { url, token }: CommandServerAddress,
  command: StoreCommand,
  args: CommandArguments,
  silenceMs = 30 * second,
): Promise<CommandResult | undefined> {
  const startedAt = performance.now()
  let nextProgress = progressMs
  let hasBegun = false
  const response = await httpRequest(url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: { command: command.name, arguments: args },
    timeoutMs: silenceMs,
    onData() {
      hasBegun = true
      const elapsedMs = performance.now() - startedAt
      if (elapsedMs < nextProgress) return
      nextProgress += progressMs
      printError(`The running server has worked on ${command.name} for ${Math.round(elapsedMs / second)} s.`)
    },
  }).catch((error) => {
    if (error instanceof SilenceError) throw busy(command, silenceMs)
    if (hasBegun) throw ended(command)
  })
  if (response?.status !== 200) return undefined

  const last = response.text.trimEnd().split('\n').at(-1)!
  // A dying server can end its response without an error.
  if (last === runningLine.trim()) throw ended(command)
  const body = JSON.parse(last) as CommandResponse
  if ('error' in body) throw new CommandError(body.error.code, body.error.message)
  return body.result
}

const runningLine = '{}\n'

function busy({ name }: StoreCommand, silenceMs: number): CommandError {
  return new CommandError(
    'server_busy',
    `The running server has been silent for ${silenceMs / second} seconds. It may still be running ${name}. ` +
      'Read its log, and check whether the command has taken effect before you run it again.',
  )
}

function ended({ name }: StoreCommand): CommandError {
  return new CommandError(
    'server_ended',
    `The server ended while it was running ${name}. Check whether the command has taken effect before you run it again.`,
  )
}

async function handleRequest(
  store: Store,
  commands: readonly StoreCommand[],
  token: string,
  request: Request,
): Promise<Response> {
  // A web page can reach this port through a browser, but only under a host name other than 127.0.0.1 (DNS rebinding).
  if (!/^127\.0\.0\.1:\d+$/.test(request.headers.get('host') ?? '')) return new Response(null, { status: 421 })
  if (request.method !== 'POST' || new URL(request.url).pathname !== path) return new Response(null, { status: 404 })
  const bearer = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? ''
  if (!isSameSecret(bearer, token)) return new Response(null, { status: 401 })

  // The body is read before the response starts, because not every runtime can read it later.
  const text = store.deps.bodies.readText(request, limits)
  await text.catch(() => {})
  return new Response(linesOf(answer(store, commands, request, text)), {
    headers: { 'Content-Type': 'application/x-ndjson' },
  })
}

async function answer(
  store: Store,
  commands: readonly StoreCommand[],
  request: Request,
  text: Promise<string>,
): Promise<CommandResponse> {
  const { bodies } = store.deps
  try {
    const body = parseBody(await text, limits)
    return { result: await run(store, commands, body) }
  } catch (error) {
    return { error: describeError(store, error) }
  } finally {
    bodies.release(request)
  }
}

/** Sends a line immediately and every few seconds, then the response. The command continues after a disconnect. */
function linesOf(response: Promise<CommandResponse>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  return new ReadableStream({
    async start(controller) {
      const say = (line: string) => controller.enqueue(encoder.encode(line))
      say(runningLine)
      timer = setInterval(() => say(runningLine), lineMs)
      const last = await response
      if (timer === undefined) return
      clearInterval(timer)
      say(`${JSON.stringify(last)}\n`)
      controller.close()
    },
    cancel() {
      clearInterval(timer)
      timer = undefined
    },
  })
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
