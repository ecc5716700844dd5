/**
 * The database thread, seen by the process: a connection to a local file whose statements do not hold the event loop.
 * See docs/architecture.md, "The database thread".
 */
import type { TransactionMode } from '@libsql/client'
import { LibsqlError } from '@libsql/client/sqlite3'
import { setImmediate } from 'node:timers'
import { Worker } from 'node:worker_threads'
import type { LocalStatement, RawResult } from './local-connection.ts'
import {
  type Answer,
  AskedTexts,
  type KnownText,
  readError,
  type Request,
  type SentError,
  type SentResult,
  type SentStatements,
  type ThreadData,
} from './thread-messages.ts'

/** The program of the thread is beside this source, or beside the program that was built from it. */
function programUrl(): URL {
  return new URL(`./database-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
}

/**
 * Start the thread for a local file, which it opens with its first statement. Fails if it cannot start. `onLost` is
 * called when it ends before it was closed: then the outcome of what it was asked is unknown.
 */
export async function startThread(
  path: string,
  onLost: (error: Error) => void,
  program = programUrl(),
): Promise<ThreadConnection> {
  const worker = new Worker(program, { workerData: { path } satisfies ThreadData })
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve())
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`It ended with code ${code}`)))
  })
  return new ThreadConnection(worker, onLost)
}

interface Pending {
  settle(answer: Exclude<Answer, SentError>): void
  reject(error: Error): void
}

/** Like `LocalConnection`. Requests run in the order of the calls, and a unit is answered after its commit. */
export class ThreadConnection {
  readonly #worker: Worker
  readonly #onLost: (error: Error) => void
  readonly #texts = new AskedTexts()
  /** What was not sent yet. */
  #unsent: Request[] = []
  /** What was not answered yet, in the order of the calls. */
  #pending: Pending[] = []
  #isClosing = false
  #lost: Error | undefined

  constructor(worker: Worker, onLost: (error: Error) => void) {
    this.#worker = worker
    this.#onLost = onLost
    worker.on('message', (answers: Answer[]) => this.#settle(answers))
    worker.on('messageerror', (error: Error) => this.#end(error))
    worker.on('error', (error: Error) => this.#end(error))
    worker.on('exit', (code) => this.#end(new Error(`It ended with code ${code}`)))
  }

  execute({ sql, args }: LocalStatement): Promise<RawResult> {
    const text = this.#texts.find(sql)
    if (this.#unsent.length === 0) {
      // An idle thread is asked at once. While it works, what one turn of the event loop asks shares a message.
      const defer = this.#pending.length === 0 ? queueMicrotask : setImmediate
      defer(() => this.#send())
    }
    return this.#ask(['execute', text.next(), args], (result: SentResult) => text.read(result))
  }

  batch(statements: LocalStatement[], mode: TransactionMode): Promise<RawResult[]> {
    return this.#runAll(statements, (sent) => ['batch', sent, mode])
  }

  migrate(statements: LocalStatement[]): Promise<RawResult[]> {
    return this.#runAll(statements, (sent) => ['migrate', sent])
  }

  reconnect(): Promise<void> {
    return this.#askNow(['reconnect'], () => {})
  }

  /** End the thread when it has done what it was asked before. */
  close(): void {
    this.#isClosing = true
    this.#askNow(['close'], () => this.#worker.terminate()).catch(() => {})
  }

  #runAll(statements: LocalStatement[], request: (sent: SentStatements) => Request): Promise<RawResult[]> {
    const texts: KnownText[] = []
    const sent: SentStatements = []
    for (const { sql, args } of statements) {
      const text = this.#texts.find(sql)
      texts.push(text)
      sent.push(text.next(), args)
    }
    return this.#askNow(request(sent), (results: SentResult[]) => results.map((result, i) => texts[i].read(result)))
  }

  /** The write queue has waited for the end of the turn already. */
  #askNow<Sent extends Answer, Result>(request: Request, read: (sent: Sent) => Result): Promise<Result> {
    const result = this.#ask(request, read)
    this.#send()
    return result
  }

  /** `read` is called for each answer before the next one is looked at. */
  #ask<Sent extends Answer, Result>(request: Request, read: (sent: Sent) => Result): Promise<Result> {
    if (this.#lost) return Promise.reject(this.#lost)
    this.#unsent.push(request)
    return new Promise((resolve, reject) => {
      this.#pending.push({ settle: (answer) => resolve(read(answer as Sent)), reject })
    })
  }

  #send(): void {
    if (this.#unsent.length > 0) this.#worker.postMessage(this.#unsent)
    this.#unsent = []
  }

  #settle(answers: Answer[]): void {
    const settled = this.#pending.splice(0, answers.length)
    for (let i = 0; i < settled.length; i++) {
      const answer = answers[i]
      if (Array.isArray(answer)) settled[i].settle(answer)
      else settled[i].reject(readError(answer))
    }
  }

  #end(cause: Error): void {
    if (this.#lost) return
    this.#lost = new LibsqlError('The database thread has ended', 'DATABASE_LOST', undefined, undefined, cause)
    for (const { reject } of this.#pending.splice(0)) reject(this.#lost)
    if (!this.#isClosing) this.#onLost(this.#lost)
  }
}
