/** The data that the log records about a refused or slow call. See docs/operating/monitoring.md, "Logs". */
import { GridError } from './errors.ts'
import type { Log } from './lib/log.ts'
import type { CallSpans } from './telemetry.ts'

const steps = { waitingMs: 'wait', guardrailsMs: 'guardrails', commitMs: 'commit' } as const

/** The caller's ids, and where the call spent its time. Also available as the `trace` of an `AccountStore`. */
export class AccountTrace {
  readonly account: string
  readonly agent?: string
  /** Time spent waiting for messages or for a task's answer. */
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

  /** Undefined if the process exports no traces. Not part of the log. */
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

/** One call through any door. The door adds details as they become known. */
export class CallTrace {
  /** Request ids need no order, and a UUID costs a fifth of `newId`. */
  readonly requestId: string = crypto.randomUUID()
  readonly spans: CallSpans | undefined
  /** The error code of a refused call: a grid code or a JSON-RPC code. */
  code?: string
  /** Set if the call continues after its response has started. Settles when the call ends. */
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

  /** Set once the caller is known. */
  set account(account: AccountTrace) {
    this.#account = account
    account.spans = this.spans
    this.spans?.trustCaller()
  }

  /** The tool or method, for routes that serve several. */
  get tool(): string | undefined {
    return this.#tool
  }

  set tool(name: string) {
    this.#tool = name
    this.spans?.verb(name)
  }

  /** Returns a `GridError` unchanged. Logs any other error and returns `internal` without its details. */
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
