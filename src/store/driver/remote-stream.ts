/** Hrana 2 over HTTP, the protocol of libsql-server and Turso: reusing streams, and what is sent on them. */
import { type InStatement, LibsqlBatchError, LibsqlError, type ResultSet } from '@libsql/client'
import * as hrana from '@libsql/hrana-client'
import { clearTimeout, setTimeout } from 'node:timers'
import type { Statement } from './binding.ts'
import type { PlainStatement, StatementSets, Step } from './statement-sets.ts'

/** A statement that may say what it is about, see `Statement`. */
export type Subjected = InStatement | Statement

/** How long an unused stream stays open. The server ends a stream after 10 s without a request. */
const maxIdleMs = 5_000
/** The server stores 50 SQL texts for a stream. */
const maxStoredTexts = 30

/**
 * A stream that consecutive requests share, one request at a time. A stream is a connection of the server to its
 * database file, and opening one costs more than most statements.
 */
export class ReusableStream {
  readonly #client: hrana.HttpClient
  #stream: hrana.HttpStream | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: hrana.HttpClient) {
    this.#client = client
  }

  /** Send a request. If the server does not know the stream, `send` is called once more, with a new one. */
  async use<Result>(send: (stream: hrana.HttpStream) => Promise<Result>): Promise<Result> {
    clearTimeout(this.#timer)
    const current = this.#stream
    try {
      if (current && !current.closed) {
        try {
          return await send(current)
        } catch (error) {
          if (!current.closed || !isUnknownStream(error)) throw error
        }
      }
      this.#stream = this.#client.openStream()
      return await send(this.#stream)
    } finally {
      this.#timer = setTimeout(() => this.#stream?.close(), maxIdleMs).unref()
    }
  }

  /** Whether the last request got a response, even an error. False if it was lost. */
  get isOpen(): boolean {
    return this.#stream?.closed === false
  }

  /** The next request opens a new stream. */
  close(): void {
    clearTimeout(this.#timer)
    this.#stream?.close()
  }
}

/** The server has restarted, or has ended the stream. */
function isUnknownStream(error: unknown): boolean {
  if (error instanceof hrana.HttpServerError) return error.status >= 400 && error.status < 500
  return error instanceof hrana.ResponseError
}

/**
 * Run queries as one request, without a transaction. Those with the same text run as a set, the others each as a step
 * that fails alone. `onResult` is called for each query, in order, before the promise resolves. Fails if there is no
 * response, if a result cannot be represented, or if a set fails: then `onResult` was not called for some queries.
 */
export async function queryBatch(
  stream: hrana.HttpStream,
  sets: StatementSets,
  statements: InStatement[],
  onResult: (i: number, result: ResultSet | Error) => void,
): Promise<void> {
  const queries = statements.map(plain)
  const steps = sets.stepsOf(queries, withSameText(queries))
  const found: (ResultSet | Error)[] = []
  let failure: Error | undefined
  const batch = stream.batch(false)
  const texts = storeRepeated(stream, steps)
  const taken = steps.map((step) =>
    batch.step().query([texts.get(step.sql) ?? step.sql, step.args]).then((rows) => {
      if (!rows) throw new LibsqlError('The server did not answer', 'SERVER_ERROR')
      sets.resultsOf(step, toResultSet(rows)).forEach((result, n) => found[step.of[n]] = result)
    }).catch((error) => {
      if (step.columns) failure = error
      else found[step.of[0]] = toLibsqlError(error)
    })
  )
  try {
    await sendBatch(batch, texts)
    await Promise.all(taken)
  } finally {
    // Skips those without a result.
    found.forEach((result, i) => onResult(i, result))
  }
  if (failure) throw failure
}

/**
 * Commit statements as one request and one transaction. Adjacent statements with the same text and different subjects
 * run as a set. Fails with the error of the first statement that fails, and if there is no response.
 */
export async function commitBatch(
  stream: hrana.HttpStream,
  sets: StatementSets,
  statements: Subjected[],
): Promise<ResultSet[]> {
  const changes = statements.map(plain)
  const steps = sets.stepsOf(changes, aboutOtherSubjects(statements))
  const batch = stream.batch(false)
  const texts = storeRepeated(stream, steps)
  const begin = batch.step()
  const begun = begin.run('BEGIN IMMEDIATE')
  let last = begin
  const answers = steps.map(({ sql, args }) => {
    const step = batch.step().condition(hrana.BatchCond.ok(last))
    last = step
    return step.query([texts.get(sql) ?? sql, args])
  })
  const end = batch.step().condition(hrana.BatchCond.ok(last))
  const committed = end.run('COMMIT')
  const undone = batch.step().condition(hrana.BatchCond.not(hrana.BatchCond.ok(end))).run('ROLLBACK')
  // If there is no response, they are not looked at.
  for (const answer of [begun, ...answers, committed, undone]) answer.catch(() => {})
  await sendBatch(batch, texts)

  await begun
  const results: ResultSet[] = []
  for (const [i, step] of steps.entries()) {
    const rows = await answers[i].catch((error) => Promise.reject(inBatch(error, step.of[0])))
    if (!rows) throw new LibsqlBatchError('The statement was not executed', step.of[0], 'TRANSACTION_CLOSED')
    results.push(...sets.resultsOf(step, toResultSet(rows)))
  }
  await committed
  return results
}

/** Send a batch. Its texts are removed in the same request, so that the stream stores none when it is reused. */
function sendBatch(batch: hrana.Batch, texts: Map<string, hrana.Sql>): Promise<void> {
  const executed = batch.execute()
  for (const text of texts.values()) text.close()
  return executed
}

function plain(statement: InStatement): PlainStatement {
  if (typeof statement === 'string') return { sql: statement, args: [] }
  const { sql, args = [] } = statement
  if (!Array.isArray(args)) throw new TypeError('Arguments must be an array')
  return { sql, args }
}

/** The places of the statements of each text. */
function withSameText(statements: readonly PlainStatement[]): number[][] {
  const places = new Map<string, number[]>()
  for (const [i, { sql }] of statements.entries()) {
    const same = places.get(sql)
    if (same) same.push(i)
    else places.set(sql, [i])
  }
  return [...places.values()]
}

/** The places of adjacent statements with the same text and different subjects. */
function aboutOtherSubjects(statements: readonly Subjected[]): number[][] {
  const groups: number[][] = []
  let [text, subjects] = ['', new Set<string>()]
  for (const [i, statement] of statements.entries()) {
    const { sql, subject }: Pick<Statement, 'sql' | 'subject'> = typeof statement === 'string'
      ? { sql: statement }
      : statement
    if (subject !== undefined && sql === text && !subjects.has(subject)) groups.at(-1)!.push(i)
    else {
      groups.push([i])
      text = subject === undefined ? '' : sql
      subjects = new Set()
    }
    if (subject !== undefined) subjects.add(subject)
  }
  return groups
}

/** A text that occurs more than once in a request is sent once. */
function storeRepeated(stream: hrana.HttpStream, steps: readonly Step[]): Map<string, hrana.Sql> {
  const [seen, repeated] = [new Set<string>(), new Set<string>()]
  for (const { sql } of steps) (seen.has(sql) ? repeated : seen).add(sql)
  return new Map([...repeated].slice(0, maxStoredTexts).map((text) => [text, stream.storeSql(text)]))
}

/** A result set as the client of the driver returns it. */
function toResultSet(rows: hrana.RowsResult): ResultSet {
  const result = {
    columns: rows.columnNames.map((name) => name ?? ''),
    columnTypes: rows.columnDecltypes.map((type) => type ?? ''),
    rows: rows.rows,
    rowsAffected: rows.affectedRowCount,
    lastInsertRowid: rows.lastInsertRowid,
  }
  return { ...result, toJSON: () => ({ ...result, lastInsertRowid: result.lastInsertRowid?.toString() ?? null }) }
}

/** An error with the codes of the client of the driver. Errors that are not from the protocol stay as they are. */
export function toLibsqlError(error: Error): Error {
  if (!(error instanceof hrana.ClientError)) return error
  const code = error instanceof hrana.ResponseError ? error.code : undefined
  return new LibsqlError(error.message, code ?? 'SERVER_ERROR', undefined, undefined, error)
}

/** The error of the statement at a place of a commit. */
function inBatch(error: Error, place: number): Error {
  const known = toLibsqlError(error)
  if (!(known instanceof LibsqlError)) return known
  return new LibsqlBatchError(known.message, place, known.code, known.extendedCode, known.rawCode, known)
}
