/** An HTTP client that writes any bytes, because other clients refuse to send what is not valid. */
import { connect, type Socket } from 'node:net'
import type { WrittenRequest } from './mutate.ts'

export interface FuzzAnswer {
  /** 0 without an answer. */
  status: number
  text: string
  /** The server did not answer in time. */
  isLate: boolean
}

/** Above the longest silence of the grid that is meant. */
const patienceMs = 15_000
/** How long the rest of a broken request is not sent. */
const brokenMs = 300

/** Sends one request after another over one connection, and opens another when the server closes it. */
export class FuzzClient {
  readonly #port: number
  #socket: Socket | undefined

  constructor(port: number) {
    this.#port = port
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async send({ bytes, isHead, isBroken }: WrittenRequest): Promise<FuzzAnswer> {
    const isUsed = this.#socket !== undefined
    const answer = await this.#exchange(bytes, isHead, isBroken)
    // The server may close an idle connection at any time.
    return answer.status === 0 && isUsed && !isBroken ? await this.#exchange(bytes, isHead, isBroken) : answer
  }

  #exchange(bytes: Uint8Array, isHead: boolean, isBroken: boolean): Promise<FuzzAnswer> {
    if (isBroken) this.close()
    const socket = this.#socket ??= connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    return new Promise((resolve) => {
      let text = ''
      const end = (isLate: boolean, keep: boolean) => {
        clearTimeout(timer)
        socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error')
        socket.on('error', () => {})
        if (!keep) this.close()
        resolve({ status: Number(text.match(/^HTTP\/1\.1 (\d{3})/)?.[1] ?? 0), text, isLate })
      }
      const timer = setTimeout(() => end(!isBroken, false), isBroken ? brokenMs : patienceMs)
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        text = text.replace(/^HTTP\/1\.1 1\d\d[^]*?\r\n\r\n/, '')
        if (isBroken) return
        const state = stateOf(text, isHead)
        if (state !== 'incomplete') end(false, state === 'complete')
      })
      socket.on('error', () => end(false, false))
      socket.on('close', () => end(false, false))
      socket.write(bytes)
    })
  }
}

/** Whether an answer is complete, and whether the connection can be used again. A stream is not read to its end. */
function stateOf(text: string, isHead: boolean): 'incomplete' | 'complete' | 'last' {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return 'incomplete'
  const head = text.slice(0, headEnd).toLowerCase()
  const done = head.includes('\r\nconnection: close') ? 'last' : 'complete'
  if (isHead || /^http\/1\.1 (204|304)/.test(head)) return done
  if (head.includes('\r\ncontent-type: text/event-stream')) return 'last'
  const length = head.match(/\r\ncontent-length: (\d+)/)?.[1]
  if (length !== undefined) return text.length - headEnd - 4 >= Number(length) ? done : 'incomplete'
  if (head.includes('\r\ntransfer-encoding: chunked')) return text.endsWith('\r\n0\r\n\r\n') ? done : 'incomplete'
  return 'incomplete'
}
