/** Detects whether clients received their responses, for `node:http` servers on Node and Deno. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clearTimeout, setTimeout } from 'node:timers'

/** A reset within this time after a response, in milliseconds, means that the client did not receive it. */
const resetMs = 1_000

/** The error codes of a connection that the client has reset. */
const resetCodes = ['ECONNRESET', 'EPIPE']

interface Answer {
  /** Whether the operating system accepted all of the response. */
  isSent: boolean
  settle(isTaken: boolean): void
}

/** Resolves when a response is sent or its connection is closed. Closes the connection after `withinMs`. */
export function untilSent(answer: ServerResponse, socket: Socket, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), withinMs).unref()
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    answer.once('finish', end)
    answer.once('close', end)
  })
}

/**
 * The pending responses of one connection. A client that dies before reading a response resets the connection. A client
 * that has read the response sends its next request or closes the connection. @see RFC 9293 §3.10.4, RFC 2525 §2.17
 */
export class SentAnswers {
  static readonly #bySocket = new WeakMap<Socket, SentAnswers>()

  readonly #socket: Socket
  #answers: Answer[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Ends the connection after its last response was sent. */
  #end: (() => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.once('close', () => this.#settle(!this.#isReset))
    const { destroySoon } = socket
    // `node:http` calls this after the last response. Only the sending side is ended, so that a later reset is noticed.
    socket.destroySoon = () => {
      if (this.#answers.length === 0) return destroySoon.call(socket)
      this.#end = () => destroySoon.call(socket)
      socket.end()
    }
  }

  /** Resolves to whether the client received this response. Call this before the response is sent. */
  static isTaken(answer: ServerResponse, socket: Socket): Promise<boolean> {
    let answers = SentAnswers.#bySocket.get(socket)
    if (!answers) SentAnswers.#bySocket.set(socket, answers = new SentAnswers(socket))
    return answers.#isTaken(answer)
  }

  /** Records that the connection's client has sent another request, and therefore received the earlier responses. */
  static nextRequest(socket: Socket): void {
    const answers = SentAnswers.#bySocket.get(socket)
    if (answers) answers.#settleSent(true)
  }

  #isTaken(response: ServerResponse): Promise<boolean> {
    return new Promise((resolve) => {
      const answer: Answer = { isSent: false, settle: resolve }
      this.#answers.push(answer)
      response.once('finish', () => {
        answer.isSent = true
        // This event is also emitted if the connection broke during the last write.
        if (this.#socket.errored) return this.#settleSent(false)
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => this.#settleSent(true), resetMs)
      })
    })
  }

  #settleSent(isTaken: boolean): void {
    if (this.#answers.length === 0) return
    const sent = this.#answers.filter(({ isSent }) => isSent)
    this.#answers = this.#answers.filter(({ isSent }) => !isSent)
    for (const { settle } of sent) settle(isTaken)
    if (this.#answers.length > 0) return
    clearTimeout(this.#timer)
    this.#end?.()
  }

  /** Settles all pending responses when the connection closes. Responses that were not sent were not received. */
  #settle(isTaken: boolean): void {
    this.#settleSent(isTaken)
    for (const { settle } of this.#answers.splice(0)) settle(false)
  }

  /** Whether the client reset the connection. An error in its next request is not a reset. */
  get #isReset(): boolean {
    const error = this.#socket.errored as NodeJS.ErrnoException | null
    return resetCodes.includes(error?.code ?? '')
  }
}
