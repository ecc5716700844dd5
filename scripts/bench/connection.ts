/**
 * A keep-alive HTTP/1.1 connection that needs little processor time. Requests are bytes prepared in advance, and one is
 * in flight at a time. Only the response's status and body are parsed.
 */
import { connect, type Socket } from 'node:net'

export interface RawResponse {
  status: number
  body: string
  /** Whether the server closes the connection after this response. */
  closesConnection: boolean
}

const headEnd = Buffer.from('\r\n\r\n')
const empty = Buffer.alloc(0)

/** Connections idle for longer are not reused. Node closes them after 5 s, and a request sent then would be lost. */
const maxIdleMs = 3_000

/** A connection that is reopened if the server has closed it or is about to close it. */
export class Connection {
  /** The number of connections opened so far. */
  opened = 0
  readonly #port: number
  #socket: Socket | undefined
  #received: Buffer = empty
  #respondedAt = 0
  #waiting: { resolve(response: RawResponse): void; reject(error: Error): void; onBegin?: () => void } | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** `onBegin` is called when the response's first bytes arrive, which may be long before the rest. */
  send(request: Buffer, onBegin?: () => void): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, onBegin }
      if (performance.now() - this.#respondedAt > maxIdleMs) this.#drop()
      this.#socket ??= this.#open()
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#waiting = undefined
    this.#drop()
  }

  #drop(): void {
    this.#socket?.destroy()
    this.#socket = undefined
    this.#received = empty
  }

  #open(): Socket {
    this.opened++
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    const ended = (error: Error) => {
      if (this.#socket !== socket) return
      this.#waiting?.reject(error)
      this.close()
    }
    socket.on('data', (bytes) => this.#receive(bytes))
    socket.on('error', ended)
    socket.on('close', () => ended(new Error('The server closed the connection before it responded')))
    return socket
  }

  #receive(bytes: Buffer): void {
    this.#waiting?.onBegin?.()
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    const response = readResponse(this.#received)
    if (!response) return
    this.#received = empty
    this.#respondedAt = performance.now()
    const waiting = this.#waiting
    if (response.closesConnection) this.close()
    this.#waiting = undefined
    waiting?.resolve(response)
  }
}

/** Builds a POST request with a JSON body and an MCP client's headers, as bytes. */
export function post(port: number, path: string, body: unknown, headers: Record<string, string> = {}): Buffer {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    Host: `localhost:${port}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
}

/** Parses a response. Returns undefined while it is incomplete. */
function readResponse(bytes: Buffer): RawResponse | undefined {
  const end = bytes.indexOf(headEnd)
  if (end === -1) return undefined
  const head = bytes.toString('latin1', 0, end)
  const rest = bytes.subarray(end + headEnd.length)
  const status = Number(head.slice(9, 12))
  const isLast = /\r\nconnection: *close/i.test(head)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  const body = length ? readBytes(rest, Number(length[1])) : readChunks(rest)
  return body === undefined ? undefined : { status, body, closesConnection: isLast }
}

function readBytes(bytes: Buffer, length: number): string | undefined {
  return bytes.length < length ? undefined : bytes.toString()
}

function readChunks(bytes: Buffer): string | undefined {
  let body = ''
  for (let at = 0;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return body
    body += bytes.toString('utf8', lineEnd + 2, lineEnd + 2 + size)
    at = next
  }
}
