/**
 * The line of questions to a remote database. A request costs both sides far more than a question, so all that
 * wait while one request is under way go together as the next, each as a step that fails alone. One request is
 * under way at a time, and who asked first is answered first.
 *
 * No transaction is around them: each sees all that was acknowledged before it was asked.
 */
import type { Client, Config, InStatement, ResultSet } from '@libsql/client'
import { type HttpClient, openHttp, parseLibsqlUrl } from '@libsql/hrana-client'
import { setImmediate } from 'node:timers'
import { GridError } from '../../errors.ts'
import { isRemoteLoss } from './database-errors.ts'
import { askTogether, asLibsqlError, KeptStream } from './remote-stream.ts'

export interface Questions {
  /** The answer to one SELECT. Fails with `unavailable` when the database does not answer, else as the driver does. */
  execute(statement: InStatement): Promise<ResultSet>
  /** Nothing is asked any more. */
  close(): void
}

/** The answers to one request are one text, of which the server gives 10 MB. */
const maxTogether = 64

interface Question {
  statement: InStatement
  resolve(answer: ResultSet): void
  reject(error: unknown): void
  isOver?: true
}

/** Over a web socket, which `ws://` asks for, the driver asks: there a question is a message and costs little. */
export function openQuestions(settings: Pick<Config, 'url' | 'authToken' | 'fetch'>, driver: Client): Questions {
  const { hranaHttpUrl, authToken = settings.authToken } = parseLibsqlUrl(settings.url)
  if (hranaHttpUrl === undefined) {
    return { execute: (statement) => driver.execute(statement).catch(orUnavailable), close() {} }
  }
  const client = openHttp(hranaHttpUrl, authToken, settings.fetch)
  client.intMode = 'number'
  const line = new Line(client)
  return { execute: (statement) => line.ask(statement).catch(orUnavailable), close: () => line.close() }
}

class Line {
  readonly #client: HttpClient
  readonly #stream: KeptStream
  #waiting: Question[] = []
  #isAsking = false

  constructor(client: HttpClient) {
    this.#client = client
    this.#stream = new KeptStream(client)
  }

  /** Ask one SELECT. Fails with the error that the driver would give. */
  ask(statement: InStatement): Promise<ResultSet> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, resolve, reject })
      if (this.#isAsking) return
      this.#isAsking = true
      setImmediate(() => void this.#run())
    })
  }

  close(): void {
    this.#stream.close()
    this.#client.close()
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#answer(this.#waiting.splice(0, maxTogether))
      // A turn of the event loop, not a delay: who was just answered and asks on shares the next request.
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#isAsking = false
  }

  async #answer(group: Question[]): Promise<void> {
    try {
      await this.#send(group)
    } catch (error) {
      const rest = group.filter(({ isOver }) => !isOver)
      // A fault of one of them, or more than one answer can hold.
      if (group.length > 1 && this.#stream.isOpen) {
        for (const question of rest) await this.#answer([question])
      } else {
        for (const { reject } of rest) reject(asLibsqlError(error as Error))
      }
    }
  }

  #send(group: Question[]): Promise<void> {
    const statements = group.map(({ statement }) => statement)
    return this.#stream.use((stream) =>
      askTogether(stream, statements, (i, answer) => {
        const question = group[i]
        question.isOver = true
        if (answer instanceof Error) question.reject(answer)
        else question.resolve(answer)
      })
    )
  }
}

/** What was not answered changed nothing and may be asked again. */
function orUnavailable(error: unknown): never {
  if (!isRemoteLoss(error)) throw error
  throw new GridError('unavailable', 'The database does not answer. Repeat the call.', {
    retryAfterSeconds: 1,
    nothingDone: true,
  })
}
