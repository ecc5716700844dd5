/** Hostile servers on raw sockets. */
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

export interface HostileServer {
  name: string
  answer(socket: Socket): void
}

const head = (...lines: string[]) =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...lines, '', ''].join('\r\n')

/** Writes a text repeatedly, as fast as the client reads, or every `everyMs`. */
function repeat(socket: Socket, text: string, everyMs?: number): void {
  const write = () => {
    while (!socket.destroyed && socket.write(text) && everyMs === undefined);
  }
  if (everyMs === undefined) socket.on('drain', write)
  else {
    const timer = setInterval(write, everyMs)
    socket.on('close', () => clearInterval(timer))
  }
  write()
}

export const hostileServers: readonly HostileServer[] = [
  { name: 'says nothing', answer: () => {} },
  { name: 'hangs up', answer: (socket) => socket.end() },
  { name: 'is no web server', answer: (socket) => socket.end('220 mail.example ESMTP\r\n') },
  {
    name: 'sends headers without end',
    answer: (socket) => repeat(socket, head().slice(0, -2) + 'X: y\r\n'.repeat(500)),
  },
  { name: 'sends a header slowly', answer: (socket) => (socket.write(head().slice(0, -2)), repeat(socket, 'x', 20)) },
  { name: 'announces too much', answer: (socket) => socket.write(head('Content-Length: 9999999999')) },
  {
    name: 'sends chunks without end',
    answer: (
      socket,
    ) => (socket.write(head('Transfer-Encoding: chunked')), repeat(socket, `3e8\r\n${'x'.repeat(1_000)}\r\n`)),
  },
  {
    name: 'sends a body slowly',
    answer: (socket) => (socket.write(head('Content-Length: 999')), repeat(socket, ' ', 20)),
  },
  {
    name: 'sends a body without length or end',
    answer: (socket) => (socket.write(head()), repeat(socket, 'x'.repeat(999))),
  },
  {
    name: 'sends a compressed bomb',
    answer(socket) {
      const body = gzipSync(Buffer.alloc(5_000_000, 32))
      socket.write(head('Content-Encoding: gzip', `Content-Length: ${body.length}`))
      socket.end(body)
    },
  },
  { name: 'breaks off', answer: (socket) => socket.end(head('Content-Length: 20') + '{"a":') },
  {
    name: 'redirects',
    answer: (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n'),
  },
  {
    name: 'switches protocols',
    answer: (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  },
  { name: 'says continue without end', answer: (socket) => repeat(socket, 'HTTP/1.1 100 Continue\r\n\r\n', 20) },
  {
    name: 'gives two lengths',
    answer: (socket) => socket.end(head('Content-Length: 2', 'Content-Length: 9') + '{}'),
  },
  {
    name: 'is not UTF-8',
    answer: (socket) => socket.end(Buffer.concat([Buffer.from(head('Content-Length: 1')), Buffer.of(255)])),
  },
]

/** A listening server that counts its connections. */
export interface TestServer {
  port: number
  connections(): number
  close(): Promise<void>
}

/** Listens on a free port. Once a request's first bytes have arrived, passes them to `onText` and calls `answer`. */
export async function listenWith(
  answer: (socket: Socket) => void,
  host = '127.0.0.1',
  onText: (text: string) => void = () => {},
): Promise<TestServer> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.once('data', (bytes) => {
      onText(String(bytes))
      answer(socket)
    })
  })
  await new Promise<void>((ready, failed) => server.once('error', failed).listen(0, host, ready))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}

/** Answers with JSON, as a well-behaved server does. */
export function jsonResponse(body: string, ...headers: string[]): (socket: Socket) => void {
  return (socket) => socket.end(head(`Content-Length: ${Buffer.byteLength(body)}`, ...headers) + body)
}
