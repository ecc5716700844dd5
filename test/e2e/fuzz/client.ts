/** An HTTP client that can send any bytes, because other clients refuse to send invalid requests. */
import { connect } from 'node:net'
import type { WrittenRequest } from './mutate.ts'

export interface FuzzAnswer {
  /** The status, or 0 without a response. */
  status: number
  text: string
  /** Whether the server did not respond in time. */
  isLate: boolean
}

/** Time limit of a request. It exceeds the grid's longest intended silence. */
const patienceMs = 15_000
/** How long the client waits for the response to a broken request. */
const brokenMs = 300

/** Sends one request over its own connection. Only the head of an event stream is read. */
export function exchange(port: number, { bytes, isBroken }: WrittenRequest): Promise<FuzzAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let text = ''
    const end = (isLate: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      text = text.replace(/^(HTTP\/1\.1 1\d\d[^]*?\r\n\r\n)+/, '')
      resolve({ status: Number(text.match(/^HTTP\/1\.1 (\d{3})/)?.[1] ?? 0), text, isLate })
    }
    const timer = setTimeout(() => end(!isBroken), isBroken ? brokenMs : patienceMs)
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
      if (/\r\ncontent-type: text\/event-stream[^]*?\r\n\r\n/i.test(text.slice(0, 4_000))) end(false)
    })
    socket.on('error', () => {}).on('close', () => end(false))
    socket.write(bytes)
  })
}
