/** What the log says of a call that was refused or slow. See docs/operating.md, "Logs". */
import { GridError } from '../errors.ts'
import type { Log } from './log.ts'

/** Who calls, by id, and where the time of the call went. The `AccountStore` of the call has it. */
export class AccountTrace {
  readonly account: string
  readonly agent?: string
  /** For messages, or for the answer of a task. */
  waitingMs = 0
  guardrailsMs = 0
  commitMs = 0
  readonly #now: () => number

  constructor(account: string, agent: string | undefined, now: () => number) {
    this.account = account
    this.agent = agent
    this.#now = now
  }

  async time<T>(part: 'waitingMs' | 'guardrailsMs' | 'commitMs', run: () => Promise<T>): Promise<T> {
    const since = this.#now()
    try {
      return await run()
    } finally {
      this[part] += this.#now() - since
    }
  }
}

/** One call, whichever door it belongs to. The doors say what they learn of it. */
export class CallTrace {
  /** A fifth of the cost of `newId`; request ids need no order. */
  readonly requestId: string = crypto.randomUUID()
  account?: AccountTrace
  /** The tool or method, if one route has several. */
  tool?: string
  /** The code of the error that refused the call: of the grid, or of JSON-RPC. */
  code?: string
  /** Settles when the call has ended, if that is after the response has begun. */
  ended?: Promise<unknown>
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** The error that refuses the call: a `GridError` unchanged. Any other is logged, and is `internal` without its details. */
  refusal(error: unknown): GridError {
    const known = error instanceof GridError ? error : this.#unexpected(error)
    this.code = known.code
    return known
  }

  #unexpected(error: unknown): GridError {
    this.#log.error('Unexpected error', { error, requestId: this.requestId })
    return new GridError('internal', 'Internal error')
  }
}
