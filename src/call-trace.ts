/** What the log says of a call that was refused or slow. See docs/operating/monitoring.md, "Logs". */
import { GridError } from './errors.ts'
import type { Log } from './lib/log.ts'
import type { CallSpans } from './telemetry.ts'

const steps = { waitingMs: 'wait', guardrailsMs: 'guardrails', commitMs: 'commit' } as const

/** Who calls, by id, and where the time of the call went. The `AccountStore` of the call has it. */
export class AccountTrace {
  readonly account: string
  readonly agent?: string
  /** For messages, or for the answer of a task. */
  waitingMs = 0
  guardrailsMs = 0
  commitMs = 0
  readonly #now: () => number
  #spans: CallSpans | undefined

  constructor(account: string, agent: string | undefined, now: () => number) {
    this.account = account
    this.agent = agent
    this.#now = now
  }

  /** Undefined if the process sends no traces. The log does not have them. */
  get spans(): CallSpans | undefined {
    return this.#spans
  }

  set spans(spans: CallSpans | undefined) {
    this.#spans = spans
    if (spans) spans.account = this.account
  }

  async time<T>(part: keyof typeof steps, run: () => Promise<T>): Promise<T> {
    const since = this.#now()
    const end = this.#spans?.step(steps[part])
    try {
      return await run()
    } finally {
      this[part] += this.#now() - since
      end?.()
    }
  }
}

/** One call, whichever door it belongs to. The doors say what they learn of it. */
export class CallTrace {
  /** A fifth of the cost of `newId`; request ids need no order. */
  readonly requestId: string = crypto.randomUUID()
  readonly spans: CallSpans | undefined
  /** The code of the error that refused the call: of the grid, or of JSON-RPC. */
  code?: string
  /** Settles when the call has ended, if that is after the response has begun. */
  ended?: Promise<unknown>
  readonly #log: Log
  #account: AccountTrace | undefined
  #tool: string | undefined

  constructor(log: Log, spans?: CallSpans) {
    this.#log = log
    this.spans = spans
  }

  get account(): AccountTrace | undefined {
    return this.#account
  }

  /** To be set once the caller is known. */
  set account(account: AccountTrace) {
    this.#account = account
    account.spans = this.spans
    this.spans?.trustCaller()
  }

  /** The tool or method, if one route has several. */
  get tool(): string | undefined {
    return this.#tool
  }

  set tool(name: string) {
    this.#tool = name
    this.spans?.verb(name)
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
