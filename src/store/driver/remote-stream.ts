/**
 * Hrana over HTTP, the protocol of libsql-server and Turso, on a persistent stream. A stream is a connection of the
 * server to its file. The driver opens one for each request, which takes as long as about ten statements.
 *
 * @see https://github.com/tursodatabase/libsql/blob/main/docs/HTTP_V2_SPEC.md
 */
import { type InValue, LibsqlBatchError, LibsqlError, type ResultSet, type Value } from '@libsql/client'
import { Buffer } from 'node:buffer'
import * as http from 'node:http'
import * as https from 'node:https'
import { second } from '../../lib/time.ts'
import { type PlainStatement, resultSet, rowClassOf } from './prepared-statement.ts'

export type Post = (
  url: string,
  headers: Record<string, string>,
  body: string,
) => Promise<{ status: number; text: string }>

/** A silent server would block callers for minutes, so `timeout` limits each request. */
export function openPost(timeout: { ms: number }): Post {
  const agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }

  return (url, headers, body) =>
    new Promise((resolve, reject) => {
      const { protocol } = new URL(url)
      const { request } = protocol === 'https:' ? https : http
      const agent = agents[protocol as keyof typeof agents]
      const signal = AbortSignal.timeout(timeout.ms)
      request(url, { method: 'POST', headers, agent, signal }, (response) => {
        let text = ''
        response.setEncoding('utf8')
          .on('data', (part) => text += part)
          .on('end', () => resolve({ status: response.statusCode!, text }))
          .on('error', reject)
          .on('close', () => reject(new Error('The answer of the database was truncated')))
      }).on('error', reject).end(body)
    })
}

interface HranaError {
  message: string
  code?: string | null
}

interface HranaResult {
  cols: { name: string | null; decltype: string | null }[]
  rows: ({ type: 'null' | 'integer' | 'float' | 'text'; value: string | number } | { type: 'blob'; base64: string })[][]
  affected_row_count: number
  last_insert_rowid: string | null
}

interface BatchResult {
  step_results: (HranaResult | null)[]
  step_errors: (HranaError | null)[]
}

type Answer<Result> = { type: 'ok'; response: { result: Result } } | { type: 'error'; error: HranaError }

/** A libsql-server caches 50 SQL texts of 5,000 bytes per stream. Short texts are sent each time. */
const maxStoredTexts = 50
const maxStoredBytes = 5_000
const minStoredLength = 200

/** The server closes a stream after 10 s without a request. Using a closed stream costs a round trip. */
const keptMs = 9 * second

/** The id of a text that the stream has cached; undefined if the text must be sent. */
type IdOf = (sql: string) => number | undefined

export class RemoteStream {
  readonly #post: Post
  readonly #headers: Record<string, string>
  #url: string
  /** Identifies the stream in the next request. Null: the next request opens a stream. */
  #baton: string | null = null
  /** When the last response arrived, on the process's monotonic clock. */
  #answeredAt = 0
  /** The ids of the cached texts, least recently used first. */
  #texts = new Map<string, number>()
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(url: string, authToken: string | undefined, post: Post) {
    this.#url = url
    this.#post = post
    this.#headers = { 'Content-Type': 'application/json', ...(authToken && { Authorization: `Bearer ${authToken}` }) }
  }

  /** Runs each of these statements on its own, in one request. Fails if there is no response. */
  async query(statements: PlainStatement[]): Promise<(ResultSet | Error)[]> {
    const answers = await this.#send<HranaResult>((idOf) =>
      statements.map((each) => ({ type: 'execute', stmt: encoded(each, idOf) }))
    )
    return answers.map((answer) => {
      if (answer.type === 'error') return libsqlError(answer.error)
      try {
        return toResultSet(answer.response.result)
      } catch (error) {
        return error as Error
      }
    })
  }

  /** Commits statements in one request and one transaction. Fails with the error of the first statement that fails. */
  async commit(statements: PlainStatement[]): Promise<ResultSet[]> {
    const end = statements.length + 1
    const ok = (step: number) => ({ type: 'ok', step })
    const [answer] = await this.#send<BatchResult>((idOf) => {
      const steps = [
        { stmt: { sql: 'BEGIN IMMEDIATE' } },
        ...statements.map((statement, i) => ({ condition: ok(i), stmt: encoded(statement, idOf) })),
        { condition: ok(end - 1), stmt: { sql: 'COMMIT' } },
        { condition: { type: 'not', cond: ok(end) }, stmt: { sql: 'ROLLBACK' } },
      ]
      return [{ type: 'batch', batch: { steps } }]
    })
    if (answer.type === 'error') {
      this.#leave()
      throw libsqlError(answer.error)
    }
    const { step_results: results, step_errors: errors } = answer.response.result
    const place = errors.slice(0, end + 1).findIndex((error) => error !== null)
    if (place !== -1) {
      const isRolledBack = results[end + 1] !== null
      if (!isRolledBack) this.#leave()
      const error = libsqlError(errors[place]!)
      const isOfStatement = place > 0 && place < end
      throw isOfStatement ? new LibsqlBatchError(error.message, place - 1, error.code) : error
    }
    return results.slice(1, end).map((result) => toResultSet(result!))
  }

  close(): void {
    this.#isClosed = true
  }

  /** One request at a time, because each response contains a new identifier of the stream. */
  #send<Result>(requests: (idOf: IdOf) => unknown[]): Promise<Answer<Result>[]> {
    const answers = this.#last.then(async () => {
      if (this.#isClosed) throw new LibsqlError('The client is closed', 'CLIENT_CLOSED')
      const baton = performance.now() - this.#answeredAt < keptMs ? this.#baton : null
      // Without a response, the state of the stream is unknown.
      this.#baton = null
      let stored = this.#store(baton, requests)
      let response = await this.#request(baton, stored.requests)
      // The server restarted, closed the stream, or caches fewer texts. It has executed nothing.
      if ((baton !== null || stored.texts > 0) && response.status >= 400 && response.status < 500) {
        stored = this.#store(null, requests, false)
        response = await this.#request(null, stored.requests)
      }
      if (response.status !== 200) {
        throw new LibsqlError(`Server returned HTTP status ${response.status}: ${response.text}`, 'SERVER_ERROR')
      }
      const answer = JSON.parse(response.text)
      this.#baton = answer.baton
      this.#answeredAt = performance.now()
      this.#url = answer.base_url ?? this.#url
      return answer.results.slice(stored.texts)
    })
    this.#last = answers.catch(() => {})
    return answers
  }

  /** Prepends the requests that store texts, and counts them. A new stream has stored no texts. */
  #store(
    baton: string | null,
    requests: (idOf: IdOf) => unknown[],
    hasRoom = true,
  ): { requests: unknown[]; texts: number } {
    if (baton === null) this.#texts = new Map()
    const texts = this.#texts
    const used = new Set<string>()
    const stores: unknown[] = []
    const made = requests((sql) => {
      if (!hasRoom || sql.length < minStoredLength || Buffer.byteLength(sql) > maxStoredBytes) return undefined
      let id = texts.get(sql)
      if (id === undefined && texts.size < maxStoredTexts) {
        id = texts.size
        stores.push({ type: 'store_sql', sql_id: id, sql })
      } else if (id === undefined) {
        const [oldest, freed] = texts.entries().next().value!
        if (used.has(oldest)) return undefined
        id = freed
        texts.delete(oldest)
        stores.push({ type: 'close_sql', sql_id: id }, { type: 'store_sql', sql_id: id, sql })
      }
      texts.delete(sql)
      texts.set(sql, id!)
      used.add(sql)
      return id
    })
    return { requests: [...stores, ...made], texts: stores.length }
  }

  #request(baton: string | null, requests: unknown[]): ReturnType<Post> {
    return this.#post(`${this.#url}/v2/pipeline`, this.#headers, JSON.stringify({ baton, requests }))
  }

  /** Closes a stream whose transaction may be open. The server would keep it for 10 s, and allows at most 128. */
  #leave(): void {
    const baton = this.#baton
    this.#baton = null
    if (baton !== null) this.#request(baton, [{ type: 'close' }]).catch(() => {})
  }
}

function encoded({ sql, args }: PlainStatement, idOf: IdOf) {
  const sql_id = idOf(sql)
  return { ...(sql_id === undefined ? { sql } : { sql_id }), args: args.map(encodedValue), want_rows: true }
}

function encodedValue(value: InValue): unknown {
  if (value === null) return { type: 'null' }
  if (typeof value === 'string') return { type: 'text', value }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new RangeError('Only finite numbers can be passed as arguments')
    return { type: 'float', value }
  }
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) }
  if (typeof value === 'boolean') return { type: 'integer', value: value ? '1' : '0' }
  if (value instanceof Uint8Array) return { type: 'blob', base64: Buffer.from(value).toString('base64') }
  if (value instanceof ArrayBuffer) return { type: 'blob', base64: Buffer.from(value).toString('base64') }
  throw new TypeError(`${typeof value} cannot be passed as argument to the database`)
}

function toResultSet({ cols, rows, affected_row_count, last_insert_rowid }: HranaResult): ResultSet {
  const columns = cols.map(({ name }) => name ?? '')
  const ServerRow = rowClassOf(columns)
  return resultSet({
    columns,
    columnTypes: cols.map(({ decltype }) => decltype ?? ''),
    rows: rows.map((values) => new ServerRow(values.map(decodedValue))),
    rowsAffected: affected_row_count,
    lastInsertRowid: last_insert_rowid === null ? undefined : BigInt(last_insert_rowid),
  })
}

function decodedValue(encoded: HranaResult['rows'][number][number]): Value {
  if (encoded.type === 'blob') return new Uint8Array(Buffer.from(encoded.base64, 'base64')).buffer
  if (encoded.type === 'null') return null
  if (encoded.type !== 'integer') return encoded.value
  const number = Number(encoded.value)
  if (!Number.isSafeInteger(number)) throw new RangeError('A number is too large for JavaScript')
  return number
}

function libsqlError({ message, code }: HranaError): LibsqlError {
  return new LibsqlError(message, code ?? 'SERVER_ERROR')
}
