/** Connects to a checked IP address, directly or through the operator's proxy, with TLS for `https:`. */
import { Buffer } from 'node:buffer'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { hostnameOf, isIpAddress, portOf } from './egress-policy.ts'
import { RemoteError } from './remote-error.ts'

export interface ConnectOptions {
  /** The URL. A certificate must be valid for its host. */
  url: URL
  /** The checked IP address to connect to. */
  address: string
  /** An HTTP proxy that supports CONNECT. */
  proxy: URL | undefined
  /** CA certificates to trust instead of the system's. */
  ca: string | undefined
}

/** Maximum size of the response to CONNECT. */
const maxProxyResponse = 16 * 1024
const headEnd = '\r\n\r\n'

/**
 * Connects. `signal` destroys the socket, even after this has resolved. Rejects with the system's error, a
 * `RemoteError`, or the signal's reason.
 */
export async function safeConnect({ url, address, proxy, ca }: ConnectOptions, signal: AbortSignal): Promise<Socket> {
  const socket = proxy
    ? await connectThroughProxy(proxy, address, portOf(url), signal)
    : await tcp(address, portOf(url), signal)
  return url.protocol === 'https:' ? await tls(socket, hostnameOf(url), ca, signal) : socket
}

function tcp(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return whenOpen(connectTcp({ host, port }), 'connect', signal)
}

function tls(socket: Socket, host: string, ca: string | undefined, signal: AbortSignal): Promise<Socket> {
  const servername = isIpAddress(host) ? '' : host
  return whenOpen(connectTls({ socket, host, servername, ca, ALPNProtocols: ['http/1.1'] }), 'secureConnect', signal)
}

/** Connects through a proxy with CONNECT. @see RFC 9110 §9.3.6 */
async function connectThroughProxy(proxy: URL, address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const plain = await tcp(hostnameOf(proxy), portOf(proxy), signal)
  try {
    const socket = proxy.protocol === 'https:' ? await tls(plain, hostnameOf(proxy), undefined, signal) : plain
    const authority = `${address.includes(':') ? `[${address}]` : address}:${port}`
    const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
    const authorization = proxy.username === ''
      ? ''
      : `Proxy-Authorization: Basic ${Buffer.from(user).toString('base64')}\r\n`
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`)
    const response = await readProxyResponse(socket)
    if (!/^HTTP\/1\.[01] 2\d\d[ \r]/.test(response)) {
      throw new RemoteError('not_connected', `The proxy responded ${response.slice(0, 50)}`)
    }
    // Refuses further bytes, which would be read as the server's response although it has received no request yet.
    if (response.indexOf(headEnd) !== response.length - headEnd.length) {
      throw new RemoteError('not_connected', 'The proxy sent more than its response')
    }
    return socket
  } catch (error) {
    // Destroy the connection, because the proxy may keep it open.
    plain.destroy()
    throw error
  }
}

/** Reads the response's head, and the bytes received with it. Pauses the socket. */
function readProxyResponse(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = ''
    const settle = (act: () => void) => {
      socket.off('data', read).off('error', fail).off('close', fail)
      act()
    }
    const fail = (error?: unknown) =>
      settle(() =>
        reject(error instanceof Error ? error : new RemoteError('not_connected', 'The proxy closed the connection'))
      )
    const read = (chunk: Buffer) => {
      head += chunk.toString('latin1')
      if (!head.includes(headEnd) && head.length < maxProxyResponse) return
      socket.pause()
      settle(() => resolve(head))
    }
    socket.on('data', read).on('error', fail).on('close', fail)
  })
}

function whenOpen<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<S> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      socket.destroy()
      reject(signal.reason)
    }
    // Without this listener, a later error would crash the process.
    socket.on('error', reject)
    socket.once('close', () => {
      signal.removeEventListener('abort', stop)
      reject(new RemoteError('not_connected', 'The connection was closed'))
    })
    socket.once(event, () => resolve(socket))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
