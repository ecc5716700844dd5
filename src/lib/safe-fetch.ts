/**
 * The only way out to servers that users name. Security 7.1.
 *
 * A host is resolved once, every address it has is checked, and the connection is made
 * to a checked one: no resolver is asked again, so no answer can change in between.
 */
import { Buffer } from 'node:buffer'
import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { clearTimeout, setTimeout } from 'node:timers'
import type { Config } from '../config.ts'
import type { Log } from '../deps.ts'
import { parseBody } from './body.ts'
import { asRemoteError, RemoteError } from './remote-error.ts'
import { safeConnect } from './safe-connect.ts'
import { hostOf, isAddress, isAllowedAddress, isOwnAddress, parseTarget, portOf } from './targets.ts'
import { version } from './version.ts'

export interface SafeRequest {
  /** JSON text of a POST. Without it the request is a GET. */
  body?: string
  /** Beside the fixed ones, which they cannot replace. Values are printable ASCII. */
  headers?: Record<string, string>
  /** For everything, from the look-up of the name to the last byte. */
  timeoutMs: number
  /** Of the answer; 64 KiB unless told. */
  maxBytes?: number
  /** Ends it early. */
  signal?: AbortSignal
  /** It is a question whether the server can be reached: that it cannot is no warning. */
  isProbe?: boolean
}

export interface SafeAnswer {
  /** Never 3xx. */
  readonly status: number
  readonly text: string
  /** One header by its name in lower case. */
  header(name: string): string | undefined
  /** The body, when it says that it is JSON and is harmless. Fails with `remote_unreachable`. */
  json(): unknown
}

/**
 * One request to a public server, or a private one where `ALLOW_PRIVATE_TARGETS` is set.
 * Resolves with an answer of any status but a redirect. Otherwise fails with `remote_unreachable`,
 * as a `RemoteError` whose `fault` says why; the caller is told the same sentence in all cases.
 */
export type SafeFetch = (url: string, request: SafeRequest) => Promise<SafeAnswer>

/** All addresses of a name. */
export type Resolver = (host: string) => Promise<string[]>

export interface SafeFetchOptions {
  config: Pick<Config, 'allowPrivateTargets' | 'blockedTargets' | 'egressProxy'>
  log: Log
  /** Ports this process listens on; on this machine they are never asked. It may grow. */
  ownPorts: ReadonlySet<number>
  /** Instead of the system's. */
  resolve?: Resolver
  /** Certificates to trust instead of the system's. */
  ca?: string
}

const defaultMaxBytes = 64 * 1024
const maxHeaderBytes = 16 * 1024
const jsonLimits = { maxDepth: 32, maxTokens: 5_000 }
/** A name may have many addresses, most of them unreachable. */
const maxTries = 4
/** What the connection itself says. */
const fixedHeaders =
  /^(host|connection|content-length|content-type|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|keep-alive|user-agent|proxy-.*)$/i

export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  return async (address, request) => {
    const url = parseTarget(address, options.config)
    const deadline = startDeadline(request)
    try {
      if (!url) throw new RemoteError('refused', 'Not a plain address of a public server')
      const headers = requestHeaders(url, request)
      const addresses = await checkedAddresses(url, options, deadline.signal)
      const socket = await connect(url, addresses, options, deadline.signal)
      try {
        return await exchange(socket, url, headers, request, deadline.signal)
      } finally {
        socket.destroy()
      }
    } catch (error) {
      const known = asRemoteError(deadline.signal.aborted ? deadline.signal.reason : error, 'bad_answer')
      const level = request.isProbe ? 'debug' : 'warn'
      options.log[level]('An outbound request failed', { host: url?.host, fault: known.fault, detail: known.detail })
      throw known
    } finally {
      deadline.clear()
    }
  }
}

/** One signal for the deadline and for the caller, which gives up with a `RemoteError`. */
function startDeadline({ timeoutMs, signal }: SafeRequest): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new RemoteError('too_slow', `${timeoutMs} ms`)), timeoutMs)
  const stop = () => controller.abort(new RemoteError('stopped', 'by the caller'))
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    },
  }
}

function requestHeaders(url: URL, { body, headers = {} }: SafeRequest): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    const isPlain = /^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)
    if (!isPlain || fixedHeaders.test(name)) throw new RemoteError('refused', 'A header is not allowed')
  }
  return {
    Accept: 'application/json',
    ...headers,
    Host: url.host,
    'User-Agent': `agent-grid/${version}`,
    'Accept-Encoding': 'identity',
    Connection: 'close',
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
  }
}

/** Every address of the host, all of them allowed; those of IPv4, which work everywhere, first. */
async function checkedAddresses(url: URL, options: SafeFetchOptions, signal: AbortSignal): Promise<string[]> {
  const { config, ownPorts, resolve = systemResolver } = options
  const host = hostOf(url)
  const addresses = isAddress(host) ? [host] : await unlessAborted(signal, resolve(host)).catch((error) => {
    throw asRemoteError(error, 'not_connected')
  })
  if (addresses.length === 0) throw new RemoteError('not_connected', 'The name has no address')

  const ours = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address))
  for (const address of addresses) {
    const leadsHome = isAddress(address) && isOwnAddress(address, ours)
    const isHarmless = config.allowPrivateTargets ? !ownPorts.has(portOf(url)) : false
    if (!isAllowedAddress(address, config) || (leadsHome && !isHarmless)) {
      throw new RemoteError('refused', `The address ${address} is closed`)
    }
  }
  return [...addresses].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')))
}

async function connect(url: URL, addresses: string[], options: SafeFetchOptions, signal: AbortSignal): Promise<Socket> {
  const { egressProxy } = options.config
  const proxy = egressProxy === undefined ? undefined : new URL(egressProxy)
  let last: unknown
  for (const address of addresses.slice(0, maxTries)) {
    try {
      return await safeConnect({ url, address, proxy, ca: options.ca }, signal)
    } catch (error) {
      last = error
    }
  }
  throw asRemoteError(last, 'not_connected')
}

function exchange(
  socket: Socket,
  url: URL,
  headers: Record<string, string>,
  { body, maxBytes = defaultMaxBytes }: SafeRequest,
  signal: AbortSignal,
): Promise<SafeAnswer> {
  const answered = new Promise<SafeAnswer>((resolve, reject) => {
    const outgoing = httpRequest({
      method: body === undefined ? 'GET' : 'POST',
      host: hostOf(url),
      port: portOf(url),
      path: url.pathname + url.search,
      headers,
      maxHeaderSize: maxHeaderBytes,
      createConnection: () => socket,
    }, (incoming) => readAnswer(incoming, maxBytes).then(resolve, reject))
    outgoing.on('error', reject)
    // A server that switches protocols, or hangs up without a word.
    outgoing.on('upgrade', () => reject(new RemoteError('bad_answer', 'Another protocol')))
    // The tunnel of a proxy stands still until somebody reads from it again.
    outgoing.on('socket', (used) => used.resume())
    outgoing.end(body)
  })
  return unlessAborted(signal, answered)
}

async function readAnswer(incoming: IncomingMessage, maxBytes: number): Promise<SafeAnswer> {
  const status = incoming.statusCode!
  const header = (name: string) => [incoming.headers[name]].flat()[0]
  if (status >= 300 && status < 400) throw new RemoteError('redirected', String(status))
  if ((header('content-encoding') ?? 'identity') !== 'identity') throw new RemoteError('bad_answer', 'It is encoded')
  if (Number(header('content-length') ?? 0) > maxBytes) throw new RemoteError('too_large', `over ${maxBytes} bytes`)

  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new RemoteError('too_large', `over ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  if (!incoming.complete) throw new RemoteError('bad_answer', 'It breaks off')
  const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  return { status, text, header, json: () => asJson(text, header('content-type') ?? '', maxBytes) }
}

function asJson(text: string, contentType: string, maxBytes: number): unknown {
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) throw new RemoteError('bad_answer', 'Not JSON')
  try {
    return parseBody(text, { maxBytes, ...jsonLimits })
  } catch (error) {
    throw asRemoteError({ message: (error as Error).message }, 'bad_answer')
  }
}

async function systemResolver(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** What settles too late, or never, is left alone. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
