/** Hrana 2 over HTTP, the protocol of libsql-server and Turso: reusing streams, and batches of queries. */
import { type InStatement, LibsqlError, type ResultSet } from '@libsql/client'
import * as hrana from '@libsql/hrana-client'
import { clearTimeout, setTimeout } from 'node:timers'

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
 * Run queries as one request, without a transaction, each as a step of its own. `onResult` is called for each query, in
 * order, before the promise resolves. Fails if there is no response, or if a result cannot be represented: then
 * `onResult` is not called for that query and those after it.
 */
export async function queryBatch(
  stream: hrana.HttpStream,
  statements: InStatement[],
  onResult: (i: number, result: ResultSet | Error) => void,
): Promise<void> {
  const plain = statements.map((statement) => typeof statement === 'string' ? { sql: statement, args: [] } : statement)
  const stored = storeRepeated(stream, plain.map(({ sql }) => sql))
  const batch = stream.batch(false)
  for (const [i, { sql, args = [] }] of plain.entries()) {
    batch.step().query([stored.get(sql) ?? sql, args]).then(
      (rows) => onResult(i, rows ? toResultSet(rows) : new LibsqlError('The server did not answer', 'SERVER_ERROR')),
      (error) => onResult(i, toLibsqlError(error)),
    )
  }
  const executed = batch.execute()
  // Removed in the same request, so that the stream stores no texts when it is reused.
  for (const text of stored.values()) text.close()
  await executed
}

/** A text that occurs more than once in a request is sent once. */
function storeRepeated(stream: hrana.HttpStream, texts: string[]): Map<string, hrana.Sql> {
  const [seen, repeated] = [new Set<string>(), new Set<string>()]
  for (const text of texts) (seen.has(text) ? repeated : seen).add(text)
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
