/**
 * The only code that sends requests to servers named by users. See docs/security.md, "Outgoing requests".
 *
 * A host name is resolved once, all its IP addresses are checked, and the connection uses one of them. The name is not
 * resolved again, so the addresses cannot change in between.
 */
import { Buffer } from 'node:buffer'
import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { clearTimeout, setTimeout } from 'node:timers'
import type { Config } from '../../config.ts'
import { hostnameOf, isAllowedAddress, isIpAddress, isLocalAddress, parseAllowedUrl, portOf } from './egress-policy.ts'
import type { Log } from '../log.ts'
import { asRemoteError, RemoteError } from './remote-error.ts'
import { safeConnect } from './safe-connect.ts'
import { version } from '../version.ts'

export interface RequestLimits {
  /** Time limit from the name's resolution to the last byte of the response. */
  timeoutMs: number
  /** Maximum size of the response. Defaults to 64 KiB. */
  maxBytes?: number
  signal?: AbortSignal
  /** Whether the request only checks that the server can be reached. A failure is then not logged as a warning. */
  isProbe?: boolean
  /** Records the request if its call is traced. `end` gets the response's status, or no argument without a response. */
  spans?: { sending(method: string): { traceparent: string; end(status?: number): void } | undefined }
  /** Whether the trace is propagated to the server, because the server belongs to an agent of the account. */
  passesTrace?: boolean
}

export interface SafeInit extends RequestLimits {
  method: string
  body?: string | Uint8Array
  contentType?: string
  headers?: Record<string, string>
  /** Maximum pause before the response's first byte, and between two bytes. */
  idleMs?: number
}

/**
 * Sends one request to a public server, or to a private one if `ALLOW_PRIVATE_TARGETS` is set. Resolves when the
 * response's headers have arrived, with any status except a redirect. The request, and reading the body, may reject
 * with a `RemoteError` (`remote_unreachable`). Its message is always the same, and its `reason` names the cause.
 */
export type SafeStream = (url: string, init: SafeInit) => Promise<Response>

export type Resolver = (host: string) => Promise<string[]>

export interface SafeStreamOptions {
  config: Pick<Config, 'allowPrivateTargets' | 'blockedTargets' | 'egressProxy'>
  log: Log
  /** Ports on which this process listens. Requests to these ports of this machine are refused. The set may grow. */
  ownPorts: ReadonlySet<number>
  /** A resolver to use instead of the system's. */
  resolve?: Resolver
  /** CA certificates to trust instead of the system's. */
  ca?: string
}

export const defaultMaxBytes = 64 * 1024
const maxHeaderBytes = 16 * 1024
/** Maximum number of addresses that are tried. A name may have many unreachable addresses. */
const maxAttempts = 4
/** Headers that belong to the connection. Callers cannot set them. */
const fixedHeaders =
  /^(host|connection|content-length|content-type|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|keep-alive|user-agent|proxy-.*)$/i

export function createSafeStream(options: SafeStreamOptions): SafeStream {
  return async (address, init) => {
    const url = parseAllowedUrl(address, options.config)
    const deadline = new Deadline(init)
    const span = init.spans?.sending(init.method)
    let socket: Socket | undefined
    const end = () => {
      deadline.clear()
      socket?.destroy()
    }
    let isSent = false
    let status: number | undefined
    const failed = (error: unknown) => {
      end()
      const reason = deadline.signal.aborted ? deadline.signal.reason : error
      return Object.assign(reported(options.log, url?.host, init, reason), { isSent, status })
    }
    try {
      if (!url) throw new RemoteError('refused', 'The URL is not allowed')
      const traceparent = init.passesTrace && span && { traceparent: span.traceparent }
      const headers = { ...requestHeaders(url, init), ...traceparent }
      const addresses = await checkedAddresses(url, options, deadline.signal)
      socket = await connect(url, addresses, options, deadline.signal)
      const incoming = await deadline.unlessIdle(sendRequest(socket, url, headers, init, () => isSent = true))
      status = incoming.statusCode
      span?.end(incoming.statusCode)
      return asResponse(incoming, deadline, init.maxBytes ?? defaultMaxBytes, { end, failed })
    } catch (error) {
      span?.end()
      throw failed(error)
    }
  }
}

/** Converts an error to a `RemoteError` and logs it once. */
export function reported(log: Log, host: string | undefined, { isProbe }: RequestLimits, error: unknown): RemoteError {
  if (error instanceof RemoteError && error.isReported) return error
  const remoteError = asRemoteError(error, 'invalid_response')
  remoteError.isReported = true
  log[isProbe ? 'debug' : 'warn']('An outbound request failed', {
    host,
    fault: remoteError.reason,
    detail: remoteError.detail,
  })
  return remoteError
}

/** One signal for the deadline, for long pauses and for the caller's signal. Its reason is a `RemoteError`. */
class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #idleMs: number | undefined
  readonly #callers: AbortSignal | undefined

  constructor({ timeoutMs, idleMs, signal }: Pick<SafeInit, 'timeoutMs' | 'idleMs' | 'signal'>) {
    this.#timer = this.#abortAfter(timeoutMs)
    this.#idleMs = idleMs
    this.#callers = signal
    if (signal?.aborted) this.#abort()
    signal?.addEventListener('abort', this.#abort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Settles like `work`, but rejects after a pause of `idleMs` or at the deadline, even if `work` never settles. */
  async unlessIdle<T>(work: Promise<T>): Promise<T> {
    const timer = this.#idleMs === undefined ? undefined : this.#abortAfter(this.#idleMs)
    try {
      return await unlessAborted(this.signal, work)
    } finally {
      clearTimeout(timer)
    }
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#callers?.removeEventListener('abort', this.#abort)
  }

  #abortAfter(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#controller.abort(new RemoteError('timeout', `${ms} ms`)), ms)
  }

  readonly #abort = () => this.#controller.abort(new RemoteError('aborted', 'by the caller'))
}

function requestHeaders(url: URL, { body, contentType, headers = {} }: SafeInit): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    const isPlain = /^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)
    if (!isPlain || fixedHeaders.test(name)) throw new RemoteError('refused', 'A header is not allowed')
  }
  return {
    ...headers,
    Host: url.host,
    'User-Agent': `agent-grid/${version}`,
    'Accept-Encoding': 'identity',
    Connection: 'close',
    ...(contentType !== undefined && { 'Content-Type': contentType }),
    ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
  }
}

/** Returns all of the host's IP addresses, IPv4 first. Rejects with `refused` if one of them is not allowed. */
async function checkedAddresses(url: URL, options: SafeStreamOptions, signal: AbortSignal): Promise<string[]> {
  const { config, ownPorts, resolve = systemResolver } = options
  const host = hostnameOf(url)
  const addresses = isIpAddress(host) ? [host] : await unlessAborted(signal, resolve(host)).catch((error) => {
    throw asRemoteError(error, 'not_connected')
  })
  if (addresses.length === 0) throw new RemoteError('not_connected', 'The name has no IP address')

  const localAddresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address))
  for (const address of addresses) {
    const isLocal = isIpAddress(address) && isLocalAddress(address, localAddresses)
    const isOtherProgram = config.allowPrivateTargets && !ownPorts.has(portOf(url))
    if (!isAllowedAddress(address, config) || (isLocal && !isOtherProgram)) {
      throw new RemoteError('refused', `The address ${address} is not allowed`)
    }
  }
  return [...addresses].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')))
}

async function connect(
  url: URL,
  addresses: string[],
  options: SafeStreamOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const { egressProxy } = options.config
  const proxy = egressProxy === undefined ? undefined : new URL(egressProxy)
  let lastError: unknown
  for (const address of addresses.slice(0, maxAttempts)) {
    try {
      return await safeConnect({ url, address, proxy, ca: options.ca }, signal)
    } catch (error) {
      lastError = error
    }
  }
  throw asRemoteError(lastError, 'not_connected')
}

function sendRequest(
  socket: Socket,
  url: URL,
  headers: Record<string, string>,
  { method, body }: SafeInit,
  onSent: () => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      method,
      host: hostnameOf(url),
      port: portOf(url),
      path: url.pathname + url.search,
      headers,
      maxHeaderSize: maxHeaderBytes,
      createConnection: () => socket,
    }, resolve)
    outgoing.on('error', reject)
    outgoing.on('finish', onSent)
    // Emitted if the server switches to another protocol.
    outgoing.on('upgrade', () => reject(new RemoteError('invalid_response', 'It switched the protocol')))
    // A socket from a proxy is paused, so resume it.
    outgoing.on('socket', (socket) => socket.resume())
    outgoing.end(body)
  })
}

interface Settle {
  end(): void
  /** Ends the stream, and creates the reader's error. */
  failed(error: unknown): RemoteError
}

function asResponse(
  incoming: IncomingMessage,
  deadline: Deadline,
  maxBytes: number,
  { end, failed }: Settle,
): Response {
  const status = incoming.statusCode!
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, [value].flat().join(', '))
  if (status >= 300 && status < 400) throw new RemoteError('redirected', String(status))
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') {
    throw new RemoteError('invalid_response', 'It is encoded')
  }
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    throw new RemoteError('too_large', `over ${maxBytes} bytes`)
  }
  const chunks = chunksOf(incoming, maxBytes)
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await deadline.unlessIdle(chunks.next())
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (error) {
        controller.error(failed(error))
      }
    },
    cancel: end,
  }, { highWaterMark: 0 })
  // Responses with these statuses must not have a body.
  const isEmpty = status === 204 || status === 205
  if (isEmpty) end()
  return new Response(isEmpty ? null : body, { status, headers })
}

async function* chunksOf(incoming: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array, undefined> {
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new RemoteError('too_large', `over ${maxBytes} bytes`)
    yield chunk
  }
  if (!incoming.complete) throw new RemoteError('invalid_response', 'It is incomplete')
}

async function systemResolver(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** Settles like `work`, but rejects when the signal aborts, even if `work` never settles. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
