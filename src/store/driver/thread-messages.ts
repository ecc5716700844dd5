/**
 * What the process and its database thread send each other. Messages are lists of arrays, because most of their cost is
 * copying them. The text of a statement is sent once, and then its number: both sides number the texts in the order in
 * which they come.
 */
import { LibsqlBatchError, LibsqlError } from '@libsql/client/sqlite3'
import type { InValue, TransactionMode, Value } from '@libsql/client'
import { maxCached, type RawResult, type ResultColumns } from './local-connection.ts'

/** The text of a statement, or the number that it has got. */
export type Text = string | number
/** The text and the values of each statement in turn. */
export type SentStatements = (Text | InValue[])[]

/** What the thread is asked to do. */
export type Request =
  | ['execute', Text, InValue[]]
  | ['batch', SentStatements, TransactionMode]
  | ['migrate', SentStatements]
  | ['reconnect']
  | ['close']

/** A result: without rows, with rows, or with rows and the names and types of columns that are new to the process. */
export type SentResult = [rows: null, changes: number, lastInsertRowid: number | bigint] | [rows: Value[][]] | [
  rows: Value[][],
  names: string[],
  types: string[],
]

/** The answer to a request: its result or its results; or an error. */
export type Answer = SentResult | SentResult[] | SentError

/** What the thread is given at its start. */
export interface ThreadData {
  path: string
}

/** What one side knows about a text. */
export class KnownText {
  readonly sql: string
  readonly #number: number
  #isSent = false
  /** The columns that the thread has sent last. */
  #columns: ResultColumns | undefined

  constructor(sql: string, number: number) {
    this.sql = sql
    this.#number = number
  }

  /** What stands for the text in the next request of the process: the text itself once, and then its number. */
  next(): Text {
    if (this.#isSent) return this.#number
    this.#isSent = true
    return this.sql
  }

  /** What the thread sends of a result. */
  write({ columns, rows, changes, lastInsertRowid }: RawResult): SentResult {
    if (columns === undefined) return [null, changes, lastInsertRowid!]
    if (columns === this.#columns) return [rows]
    this.#columns = columns
    return [rows, columns.names, columns.types]
  }

  /** What the process makes of it. Call it for each result, in order. */
  read(sent: SentResult): RawResult {
    if (sent[0] === null) {
      return { columns: undefined, rows: [], changes: sent[1], lastInsertRowid: sent[2] }
    }
    if (sent.length === 3) this.#columns = { names: sent[1], types: sent[2] }
    return { columns: this.#columns, rows: sent[0], changes: 0, lastInsertRowid: undefined }
  }
}

/** The texts of the process. */
export class AskedTexts {
  readonly #known = new Map<string, KnownText>()

  /** The text of the next statement of a request. */
  find(sql: string): KnownText {
    const known = this.#known.get(sql)
    if (known) return known
    // The thread does the same when it is sent one more text.
    if (this.#known.size === maxCached) this.#known.clear()
    const added = new KnownText(sql, this.#known.size)
    this.#known.set(sql, added)
    return added
  }
}

/** The texts of the thread. */
export class GivenTexts {
  #known: KnownText[] = []

  /** The text of the next statement of a request. */
  find(text: Text): KnownText {
    if (typeof text === 'number') return this.#known[text]
    if (this.#known.length === maxCached) this.#known = []
    const added = new KnownText(text, this.#known.length)
    this.#known.push(added)
    return added
  }
}

/** An error of the connection. Its class and its codes matter: see `database-errors.ts`. */
export interface SentError {
  name: string
  message: string
  code?: string
  extendedCode?: string
  rawCode?: number
  statementIndex?: number
  cause?: SentError
}

export function writeError(error: unknown): SentError {
  const { name, message, code, extendedCode, rawCode, statementIndex, cause } = error as SentError
  return {
    name: String(name),
    message: String(message),
    code,
    extendedCode,
    rawCode,
    statementIndex,
    ...(cause && { cause: writeError(cause) }),
  }
}

export function readError(sent: SentError): Error {
  const { name, message, code, extendedCode, rawCode, statementIndex, cause: sentCause } = sent
  const cause = sentCause && readError(sentCause)
  if (name === 'TypeError') return new TypeError(message, { cause })
  if (name === 'RangeError') return new RangeError(message, { cause })
  if (code === undefined || !name.startsWith('Libsql')) {
    return Object.assign(new Error(message, { cause }), { name, code, rawCode })
  }
  // The constructors put the code in front of the message.
  const text = message.slice(`${code}: `.length)
  return statementIndex === undefined
    ? new LibsqlError(text, code, extendedCode, rawCode, cause)
    : new LibsqlBatchError(text, statementIndex, code, extendedCode, rawCode, cause)
}
