/** Statements of the store: SQL text with named parameters. See docs/architecture.md, "Reads and writes". */
import type { Client, InStatement, InValue, ResultSet, Row, Value } from '@libsql/client'

/** Decodes a value from the database that is not null. */
export type Decoder<T = unknown> = (value: Value) => T

/** The decoders of a row's fields that are neither strings nor numbers. */
type Decoders<Result> = {
  [Field in keyof Result as NonNullable<Result[Field]> extends string | number ? never : Field]-?: Decoder<
    NonNullable<Result[Field]>
  >
}

export const boolean: Decoder<boolean> = (value) => value !== 0

// deno-lint-ignore no-explicit-any -- the row type of the query says what it is
export const json: Decoder<any> = (value) => JSON.parse(String(value))

/** Every statement of the program, for the isolation tests. */
export const allQueries: Query<unknown>[] = []

/** An unbound statement. `Result` is the type of the rows that it returns. */
export class Query<Result> {
  /** The name of a cross-account query, which the isolation tests must list. */
  readonly crossAccount: string | undefined
  /** See `traffic`. Always true for queries. */
  readonly isTraffic: boolean
  readonly #text: string
  readonly #decoders: Record<string, Decoder | undefined>
  #parsed: { sql: string; names: string[] } | undefined
  #columns: { name: string; decode: Decoder | undefined }[] | undefined

  constructor(text: string, decoders: object = {}, crossAccount?: string, isTraffic = /^\s*SELECT\b/.test(text)) {
    this.#text = text
    this.isTraffic = isTraffic
    this.#decoders = decoders as Record<string, Decoder>
    this.crossAccount = crossAccount
    allQueries.push(this)
  }

  /** The SQL with `?1`, `?2` and so on for the parameters. */
  get sql(): string {
    return (this.#parsed ??= parse(this.#text)).sql
  }

  get names(): readonly string[] {
    return (this.#parsed ??= parse(this.#text)).names
  }

  /** Converts a result's rows. The column `some_name` becomes `someName`. */
  rows({ columns, rows }: Pick<ResultSet, 'columns' | 'rows'>): Result[] {
    const fields = this.#columns ??= columns.map((column) => {
      const name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
      return { name, decode: this.#decoders[name] }
    })
    return rows.map((row) => {
      const result: Record<string, unknown> = {}
      for (let i = 0; i < fields.length; i++) {
        const { name, decode } = fields[i]
        const value = row[i]
        result[name] = decode && value !== null ? decode(value) : value
      }
      return result as Result
    })
  }
}

/** Rows use camel-case column names. `decoders` covers every field that is neither a string nor a number. */
export function query<Result extends object>(
  text: string,
  ...[decoders]: keyof Decoders<Result> extends never ? [] : [Decoders<Result>]
): Query<Result> {
  return new Query<Result>(text, decoders)
}

/** A query that may read several accounts. Its name must be listed in `test/support/tripwire.ts`. */
export function crossAccountQuery<Result extends object>(
  name: string,
  text: string,
  ...[decoders]: keyof Decoders<Result> extends never ? [] : [Decoders<Result>]
): Query<Result> {
  return new Query<Result>(text, decoders, name)
}

export function statement(text: string): Query<Row> {
  return new Query<Row>(text)
}

/** A statement that may access several accounts. */
export function crossAccountStatement(name: string, text: string): Query<Row> {
  return new Query<Row>(text, {}, name)
}

/**
 * A frequent statement that does not affect key lookups, so the key cache stays valid. Every other write clears the
 * cache, see `KeyCache`.
 */
export function traffic(text: string): Query<Row> {
  return new Query<Row>(text, {}, undefined, true)
}

/** Changes nothing. If `condition` does not hold, fails its whole unit by inserting NULL into a NOT NULL column. */
export function precondition(condition: string): Query<Row> {
  return traffic(preconditionText(condition))
}

/** The SQL of a precondition that may access several accounts. */
export function preconditionText(condition: string): string {
  return `INSERT INTO store_facts (key, value) SELECT 'precondition', NULL WHERE NOT (${condition})`
}

/**
 * A bound statement for the write queue. `rows` is the approximate number of rows that it writes (default 1). A
 * statement that "fails with a constraint error" fails its whole unit with `write_conflict`.
 */
export interface Statement {
  sql: string
  args: InValue[]
  rows?: number
  /** See `traffic`. */
  isTraffic?: boolean
}

/** Values by parameter name. `null` is a value. `undefined` and objects throw a `TypeError`. */
export type Values = Record<string, string | number | boolean | bigint | Uint8Array | null>

/** Resolves if the caller's credential is valid. Repeated calls share one lookup. */
export type Proof = () => Promise<unknown>

/** Runs queries and binds statements on tables that belong to no account. */
export class Db {
  readonly client: Pick<Client, 'execute'>
  readonly inspect: Inspect | undefined
  readonly #accountId: string | undefined

  constructor(client: Pick<Client, 'execute'>, inspect?: Inspect, accountId?: string) {
    this.client = client
    this.inspect = inspect
    this.#accountId = accountId
  }

  /**
   * Returns a `Db` for a caller that is not authenticated yet. Each query starts together with the proof, so a remote
   * database needs only one round trip. The query fails if the proof fails.
   */
  behind(proof: Proof): Db {
    const { client } = this
    return new Db({
      async execute(statement: InStatement) {
        const proven = proof()
        const found = client.execute(statement)
        // Prevents an unhandled rejection if the proof fails too.
        found.catch(() => {})
        await proven
        return await found
      },
    }, this.inspect)
  }

  /** Returns a `Db` for the tables of one account. The parameter `account` is the account's id. */
  forAccount(accountId: string): AccountDb {
    return new AccountDb(this.client, this.inspect, accountId)
  }

  /** Fails with `unavailable` when a remote database does not answer. */
  async all<Result>(query: Query<Result>, values: Values = {}): Promise<Result[]> {
    this.inspect?.(query.sql, query.crossAccount)
    return query.rows(await this.client.execute(this.bind(query, values)))
  }

  async one<Result>(query: Query<Result>, values: Values = {}): Promise<Result | undefined> {
    return (await this.all(query, values))[0]
  }

  bind<Result>(query: Query<Result>, values: Values = {}): Statement {
    const args = query.names.map((name) => {
      const value = name === 'account' && this.#accountId !== undefined ? this.#accountId : values[name]
      // The native driver terminates the process when it gets an object, and one `undefined` would fail a whole group.
      if (value === undefined || (typeof value === 'object' && value !== null && !(value instanceof Uint8Array))) {
        throw new TypeError(`The statement was given no value for ${name}`)
      }
      return value
    })
    return { sql: query.sql, args, isTraffic: query.isTraffic }
  }
}

/** Runs queries and binds statements for one account. Its id overrides a value named `account`. */
export class AccountDb extends Db {
  readonly accountId: string

  constructor(client: Pick<Client, 'execute'>, inspect: Inspect | undefined, accountId: string) {
    super(client, inspect, accountId)
    this.accountId = accountId
  }
}

export type Inspect = (sql: string, crossAccountQuery?: string) => void

/** Matches quoted strings and names, which have no parameters, then parameters and white space. */
const pieces = /'(?:[^']|'')*'|"[^"]*"|(?<![\w:]):([A-Za-z]\w*)|\s+/g

function parse(text: string): { sql: string; names: string[] } {
  const names: string[] = []
  const sql = text.trim().replace(pieces, (piece, name?: string) => {
    if (name !== undefined) {
      // Each value is bound once, even if its parameter is used several times.
      if (!names.includes(name)) names.push(name)
      return `?${names.indexOf(name) + 1}`
    }
    return /^\s/.test(piece) ? ' ' : piece
  })
  return { sql, names }
}

/** A condition that the column contains the search text. */
export function contains(column: string): string {
  return `instr(lower(${column}), lower(:search)) > 0`
}

export function matchesSearchText(columns: string[], ...conditions: string[]): string {
  return `(${[`:search = ''`, ...columns.map(contains), ...conditions].join(' OR ')})`
}

/** The columns of a sealed token, for a SELECT or an INSERT. */
export const sealedColumns = 'encrypted_token, token_iv, token_auth_tag, token_key_id'

/** A sealed token's values in an INSERT. The parameters are named after the fields of `SealedToken`. */
export const insertedToken = ':encryptedToken, :tokenIv, :tokenAuthTag, :tokenKeyId'

/** A sealed token's assignments in an UPDATE. */
export const updatedToken = `encrypted_token = :encryptedToken, token_iv = :tokenIv,
    token_auth_tag = :tokenAuthTag, token_key_id = :tokenKeyId`

/** A sealed token's assignments in an upsert, which take the values proposed for insertion. */
export const excludedToken = `encrypted_token = excluded.encrypted_token, token_iv = excluded.token_iv,
    token_auth_tag = excluded.token_auth_tag, token_key_id = excluded.token_key_id`
