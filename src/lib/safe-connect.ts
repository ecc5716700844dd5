/** A connection to one checked address, direct or through the operator's proxy, with TLS where the address asks for it. */
import type { Buffer } from 'node:buffer'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { RemoteError } from './remote-error.ts'
import { hostOf, isAddress, portOf } from './targets.ts'

export interface Route {
  /** Whom the certificate must name. */
  url: URL
  /** Where to connect: an address that was checked, not a name. */
  address: string
  /** An HTTP proxy that takes CONNECT. */
  proxy: URL | undefined
  /** Certificates to trust instead of the system's. */
  ca: string | undefined
}

/** How much a proxy may say before it opens the tunnel. */
const maxProxyHead = 16 * 1024

/** Connect; `signal` destroys the socket at any time, also later. Rejects with the system's error, a `RemoteError` or the signal's reason. */
export async function safeConnect({ url, address, proxy, ca }: Route, signal: AbortSignal): Promise<Socket> {
  const socket = proxy
    ? await throughProxy(proxy, address, portOf(url), signal)
    : await tcp(address, portOf(url), signal)
  return url.protocol === 'https:' ? await tls(socket, hostOf(url), ca, signal) : socket
}

function tcp(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return opened(connectTcp({ host, port }), 'connect', signal)
}

function tls(socket: Socket, host: string, ca: string | undefined, signal: AbortSignal): Promise<Socket> {
  const servername = isAddress(host) ? '' : host
  return opened(connectTls({ socket, host, servername, ca, ALPNProtocols: ['http/1.1'] }), 'secureConnect', signal)
}

/** @see RFC 9110 §9.3.6 */
async function throughProxy(proxy: URL, address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const plain = await tcp(hostOf(proxy), portOf(proxy), signal)
  const socket = proxy.protocol === 'https:' ? await tls(plain, hostOf(proxy), undefined, signal) : plain

  const authority = `${address.includes(':') ? `[${address}]` : address}:${port}`
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const authorization = proxy.username === '' ? '' : `Proxy-Authorization: Basic ${btoa(user)}\r\n`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`)
  const head = await proxyHead(socket)
  if (!/^HTTP\/1\.[01] 2\d\d /.test(head)) throw new RemoteError('not_connected', `The proxy said ${head.slice(0, 50)}`)
  return socket
}

function proxyHead(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = ''
    const settle = (act: () => void) => {
      socket.off('data', read).off('error', fail).off('close', fail)
      act()
    }
    const fail = (error?: unknown) =>
      settle(() => reject(error instanceof Error ? error : new RemoteError('not_connected', 'The proxy hung up')))
    const read = (chunk: Buffer) => {
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0 && head.length < maxProxyHead) return
      socket.pause()
      // Nobody may speak before we do, or the proxy would put words into the server's mouth.
      if (end !== head.length - 4) fail()
      else settle(() => resolve(head))
    }
    socket.on('data', read).on('error', fail).on('close', fail)
  })
}

function opened<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<S> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      socket.destroy()
      reject(signal.reason)
    }
    // Without a listener a late error would end the process.
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
