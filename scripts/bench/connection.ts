/**
 * A keep-alive HTTP/1.1 connection that costs the load generator little: requests are bytes made beforehand,
 * one is in flight at a time, and of an answer only status and body are looked at.
 */
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  body: string
  /** The server closes the connection behind it. */
  isLast: boolean
}

const headEnd = Buffer.from('\r\n\r\n')
const empty = Buffer.alloc(0)

/** How long an unused connection is trusted: Node closes it after 5 s, and a request on its way then is lost. */
const trustMs = 3_000

/** Opens again when the server has closed it, or is about to, as a keep-alive client does. */
export class Connection {
  /** How often it was opened. */
  opened = 0
  readonly #port: number
  #socket: Socket | undefined
  #received: Buffer = empty
  #answeredAt = 0
  #waiting: { resolve(answer: Answer): void; reject(error: Error): void; onBegin?: () => void } | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** `onBegin` is called at the first bytes of the answer: of one that comes late, the server begins at once. */
  send(request: Buffer, onBegin?: () => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, onBegin }
      if (performance.now() - this.#answeredAt > trustMs) this.#drop()
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
    socket.on('close', () => ended(new Error('The server closed the connection before it answered')))
    return socket
  }

  #receive(bytes: Buffer): void {
    this.#waiting?.onBegin?.()
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    const answer = readAnswer(this.#received)
    if (!answer) return
    this.#received = empty
    this.#answeredAt = performance.now()
    const waiting = this.#waiting
    if (answer.isLast) this.close()
    this.#waiting = undefined
    waiting?.resolve(answer)
  }
}

/** A POST of a JSON body with the headers of an MCP client. */
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

/** The answer, once all of it is there. */
function readAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(headEnd)
  if (end === -1) return undefined
  const head = bytes.toString('latin1', 0, end)
  const rest = bytes.subarray(end + headEnd.length)
  const status = Number(head.slice(9, 12))
  const isLast = /\r\nconnection: *close/i.test(head)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  const body = length ? readBytes(rest, Number(length[1])) : readChunks(rest)
  return body === undefined ? undefined : { status, body, isLast }
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
