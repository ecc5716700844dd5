/**
 * The only way to send requests to servers that users name. See docs/security.md, "Outgoing requests".
 *
 * A host name is resolved once, all its IP addresses are checked, and the connection goes to one of them. The name is
 * not resolved again, so the addresses cannot change in between.
 */
import { Buffer } from 'node:buffer'
import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { clearTimeout, setTimeout } from 'node:timers'
import type { Config } from '../../config.ts'
import { parseBody } from '../http/body.ts'
import { hostnameOf, isAllowedAddress, isIpAddress, isLocalAddress, parseAllowedUrl, portOf } from './egress-policy.ts'
import type { Log } from '../log.ts'
import { asRemoteError, RemoteError } from './remote-error.ts'
import { safeConnect } from './safe-connect.ts'
import { version } from '../version.ts'

export interface SafeRequest {
  /** The JSON text or the bytes of a POST. Without it the request is a GET. */
  body?: string | Uint8Array
  /** Additional headers. They cannot replace those of the connection. Values are printable ASCII. */
  headers?: Record<string, string>
  /** From resolving the name to the last byte of the response. */
  timeoutMs: number
  /** The largest response; 64 KiB by default. */
  maxBytes?: number
  signal?: AbortSignal
  /** The request only checks whether the server can be reached, so a failure is not logged as a warning. */
  isProbe?: boolean
}

export interface SafeResponse {
  /** Never 3xx. */
  readonly status: number
  readonly text: string
  header(name: string): string | undefined
  /**
   * The parsed body. Fails with `remote_unreachable` if it is not JSON or exceeds the JSON limits. `maxTokens` replaces
   * the most values that it may have.
   */
  json(limits?: { maxTokens?: number }): unknown
}

/**
 * Send one request to a public server, or to a private one if `ALLOW_PRIVATE_TARGETS` is set. Resolves to a response
 * of any status except a redirect. Otherwise rejects with a `RemoteError` (`remote_unreachable`), whose message is
 * always the same and whose `reason` says why.
 */
export type SafeFetch = (url: string, request: SafeRequest) => Promise<SafeResponse>

export type Resolver = (host: string) => Promise<string[]>

export interface SafeFetchOptions {
  config: Pick<Config, 'allowPrivateTargets' | 'blockedTargets' | 'egressProxy'>
  log: Log
  /** Ports this process listens on. Requests to them on this machine are refused. The set may grow. */
  ownPorts: ReadonlySet<number>
  /** Used instead of the system's resolver. */
  resolve?: Resolver
  /** CA certificates to trust instead of the system's. */
  ca?: string
}

const defaultMaxBytes = 64 * 1024
const maxHeaderBytes = 16 * 1024
const jsonLimits = { maxDepth: 32, maxTokens: 5_000 }
/** A name may have many addresses that cannot be reached. */
const maxAttempts = 4
/** Headers of the connection, which callers cannot set. */
const fixedHeaders =
  /^(host|connection|content-length|content-type|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|keep-alive|user-agent|proxy-.*)$/i

export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  return async (address, request) => {
    const url = parseAllowedUrl(address, options.config)
    const deadline = startDeadline(request)
    try {
      if (!url) throw new RemoteError('refused', 'The URL is not allowed')
      const headers = requestHeaders(url, request)
      const addresses = await checkedAddresses(url, options, deadline.signal)
      const socket = await connect(url, addresses, options, deadline.signal)
      try {
        return await sendRequest(socket, url, headers, request, deadline.signal)
      } finally {
        socket.destroy()
      }
    } catch (error) {
      const remoteError = asRemoteError(deadline.signal.aborted ? deadline.signal.reason : error, 'invalid_response')
      const level = request.isProbe ? 'debug' : 'warn'
      options.log[level]('An outbound request failed', {
        host: url?.host,
        fault: remoteError.reason,
        detail: remoteError.detail,
      })
      throw remoteError
    } finally {
      deadline.clear()
    }
  }
}

/** One signal for the deadline and for the signal of the caller. Its reason is a `RemoteError`. */
function startDeadline({ timeoutMs, signal }: SafeRequest): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new RemoteError('timeout', `${timeoutMs} ms`)), timeoutMs)
  const abort = () => controller.abort(new RemoteError('aborted', 'by the caller'))
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
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
    ...(body === undefined ? {} : {
      'Content-Type': typeof body === 'string' ? 'application/json' : 'application/octet-stream',
      'Content-Length': String(Buffer.byteLength(body)),
    }),
  }
}

/** All IP addresses of the host, IPv4 first. Rejects with `refused` if one of them is not allowed. */
async function checkedAddresses(url: URL, options: SafeFetchOptions, signal: AbortSignal): Promise<string[]> {
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

async function connect(url: URL, addresses: string[], options: SafeFetchOptions, signal: AbortSignal): Promise<Socket> {
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
  { body, maxBytes = defaultMaxBytes }: SafeRequest,
  signal: AbortSignal,
): Promise<SafeResponse> {
  const response = new Promise<SafeResponse>((resolve, reject) => {
    const outgoing = httpRequest({
      method: body === undefined ? 'GET' : 'POST',
      host: hostnameOf(url),
      port: portOf(url),
      path: url.pathname + url.search,
      headers,
      maxHeaderSize: maxHeaderBytes,
      createConnection: () => socket,
    }, (incoming) => readResponse(incoming, maxBytes).then(resolve, reject))
    outgoing.on('error', reject)
    // The server switches to another protocol.
    outgoing.on('upgrade', () => reject(new RemoteError('invalid_response', 'It switched the protocol')))
    // A socket from a proxy is paused.
    outgoing.on('socket', (socket) => socket.resume())
    outgoing.end(body)
  })
  return unlessAborted(signal, response)
}

async function readResponse(incoming: IncomingMessage, maxBytes: number): Promise<SafeResponse> {
  const status = incoming.statusCode!
  const header = (name: string) => [incoming.headers[name]].flat()[0]
  if (status >= 300 && status < 400) throw new RemoteError('redirected', String(status))
  if ((header('content-encoding') ?? 'identity') !== 'identity') {
    throw new RemoteError('invalid_response', 'It is encoded')
  }
  if (Number(header('content-length') ?? 0) > maxBytes) throw new RemoteError('too_large', `over ${maxBytes} bytes`)

  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new RemoteError('too_large', `over ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  if (!incoming.complete) throw new RemoteError('invalid_response', 'It is incomplete')
  const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  const contentType = header('content-type') ?? ''
  return {
    status,
    text,
    header,
    json: ({ maxTokens = jsonLimits.maxTokens } = {}) => parseJsonBody(text, contentType, { maxBytes, maxTokens }),
  }
}

function parseJsonBody(
  text: string,
  contentType: string,
  limits: { maxBytes: number; maxTokens: number },
): unknown {
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) {
    throw new RemoteError('invalid_response', 'It is not JSON')
  }
  try {
    return parseBody(text, { maxDepth: jsonLimits.maxDepth, ...limits })
  } catch (error) {
    throw asRemoteError({ message: (error as Error).message }, 'invalid_response')
  }
}

async function systemResolver(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** Settles as `work` does, but rejects when the signal aborts, even if `work` never settles. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
