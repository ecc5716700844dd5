/** Hrana 2 over HTTP, the protocol of libsql-server and Turso: streams that are kept, and answers as the driver gives them. */
import { type InStatement, LibsqlError, type ResultSet } from '@libsql/client'
import * as hrana from '@libsql/hrana-client'
import { clearTimeout, setTimeout } from 'node:timers'

/** The server itself ends a stream that was silent for 10 s. */
const keepMs = 5_000
/** The server keeps 50 texts for a stream. */
const maxTexts = 30

/**
 * A stream is a connection of the server to its database file, and to open one costs more than most statements.
 * So requests that follow each other use the same one, one at a time.
 */
export class KeptStream {
  readonly #client: hrana.HttpClient
  #stream: hrana.HttpStream | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: hrana.HttpClient) {
    this.#client = client
  }

  /** Send a request. `send` is called once more, with a new stream, when the server does not know the kept one. */
  async use<Answer>(send: (stream: hrana.HttpStream) => Promise<Answer>): Promise<Answer> {
    clearTimeout(this.#timer)
    const kept = this.#stream
    try {
      if (kept && !kept.closed) {
        try {
          return await send(kept)
        } catch (error) {
          if (!kept.closed || !isStrange(error)) throw error
        }
      }
      this.#stream = this.#client.openStream()
      return await send(this.#stream)
    } finally {
      this.#timer = setTimeout(() => this.#stream?.close(), keepMs).unref()
    }
  }

  /** Whether the last request got an answer, be it an error, and was not lost. */
  get isOpen(): boolean {
    return this.#stream?.closed === false
  }

  /** The next request opens another one. */
  close(): void {
    clearTimeout(this.#timer)
    this.#stream?.close()
  }
}

/** The server restarted, or took us for gone. */
function isStrange(error: unknown): boolean {
  if (error instanceof hrana.HttpServerError) return error.status >= 400 && error.status < 500
  return error instanceof hrana.ResponseError
}

/**
 * Ask all as one request, without a transaction, each as a step of its own; `answered` is called for each, in their
 * order, before it resolves. Fails when there is no answer to the batch, or one that cannot be represented: then
 * that one and those behind it are not answered.
 */
export async function askTogether(
  stream: hrana.HttpStream,
  statements: InStatement[],
  answered: (i: number, answer: ResultSet | Error) => void,
): Promise<void> {
  const plain = statements.map((statement) => typeof statement === 'string' ? { sql: statement, args: [] } : statement)
  const stored = storeRepeated(stream, plain.map(({ sql }) => sql))
  const batch = stream.batch(false)
  for (const [i, { sql, args = [] }] of plain.entries()) {
    batch.step().query([stored.get(sql) ?? sql, args]).then(
      (rows) => answered(i, rows ? resultSet(rows) : new LibsqlError('The server did not answer', 'SERVER_ERROR')),
      (error) => answered(i, asLibsqlError(error)),
    )
  }
  const executed = batch.execute()
  // In the same request, so that the stream has no texts at its next one.
  for (const text of stored.values()) text.close()
  await executed
}

/** What stands in a request more than once is sent once. */
function storeRepeated(stream: hrana.HttpStream, texts: string[]): Map<string, hrana.Sql> {
  const [seen, repeated] = [new Set<string>(), new Set<string>()]
  for (const text of texts) (seen.has(text) ? repeated : seen).add(text)
  return new Map([...repeated].slice(0, maxTexts).map((text) => [text, stream.storeSql(text)]))
}

/** As the driver's own client gives it. */
function resultSet(rows: hrana.RowsResult): ResultSet {
  const result = {
    columns: rows.columnNames.map((name) => name ?? ''),
    columnTypes: rows.columnDecltypes.map((type) => type ?? ''),
    rows: rows.rows,
    rowsAffected: rows.affectedRowCount,
    lastInsertRowid: rows.lastInsertRowid,
  }
  return { ...result, toJSON: () => ({ ...result, lastInsertRowid: result.lastInsertRowid?.toString() ?? null }) }
}

/** With the codes of the driver's own client. What is no error of the protocol stays as it is. */
export function asLibsqlError(error: Error): Error {
  if (!(error instanceof hrana.ClientError)) return error
  const code = error instanceof hrana.ResponseError ? error.code : undefined
  return new LibsqlError(error.message, code ?? 'SERVER_ERROR', undefined, undefined, error)
}
