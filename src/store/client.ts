/**
 * The database client. On a local file it keeps its prepared statements: the driver
 * prepares each one anew, which is most of what a short query costs.
 */
import { type Client, type Config, createClient } from '@libsql/client'
import { ConnectionPool, Sqlite3Client } from '@libsql/client/sqlite3'
import { localPath } from './local-file.ts'

type Connection = ReturnType<ConnectionPool['acquireSync']>
type PreparedStatement = ReturnType<Connection['prepare']>

/** Our own texts are constant and about 150; what is beyond this was made up on the way. */
const maxKept = 500

/**
 * What neither changes the schema nor a setting. Only these are kept: after any other statement
 * the columns of those before it may be different ones.
 */
const isPlain = (sql: string) => /^(select|insert|update|delete|with|begin|commit)\b/i.test(sql)

/** With 1 as its last value, such a text has one row at most. */
const endsInLimit = /\slimit \?$/i

/** What the store asks for; a local file takes `url` and `intMode` alone. */
type Settings = Pick<Config, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch'>

/** `createClient`, but a local file always has one connection, and is opened at the first statement. */
export function connect(settings: Settings): Client {
  const path = localPath(settings.url)
  if (path === undefined) return createClient(settings)
  return new Sqlite3Client(new KeepingPool(path, {}, 1), settings.intMode ?? 'number')
}

/** The pool of the driver, whose connections keep what they prepared for as long as they live. */
class KeepingPool extends ConnectionPool {
  readonly #keeping = new WeakSet<Connection>()

  override acquireSync(forTransaction?: boolean): Connection {
    const connection = super.acquireSync(forTransaction)
    if (!this.#keeping.has(connection)) keepStatements(connection)
    this.#keeping.add(connection)
    return connection
  }
}

/**
 * Let `prepare` answer with the statement that it made before for the same text.
 *
 * A statement that failed may stay active, and with it what others write is acknowledged and
 * never committed. So the first error ends all of them; those that ran to their end are not active.
 */
function keepStatements(connection: Connection): void {
  const kept = new Map<string, PreparedStatement>()
  const prepare = connection.prepare.bind(connection) as (sql: string) => PreparedStatement
  const forgetOnError = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      kept.clear()
      throw error
    }
  }

  const again = (sql: string) => {
    const known = kept.get(sql)
    if (known) return known
    if (!isPlain(sql) || kept.size === maxKept) kept.clear()
    const statement = repeatable(() => forgetOnError(() => prepare(sql)), forgetOnError, endsInLimit.test(sql))
    if (isPlain(sql)) kept.set(sql, statement)
    return statement
  }
  connection.prepare = again as Connection['prepare']
}

type Guard = <Result>(work: () => Result) => Result

/** What the driver asks of a statement each time and never changes is asked once. */
function repeatable(prepare: () => PreparedStatement, guard: Guard, endsInLimit: boolean): PreparedStatement {
  const statement = configured(prepare())
  const { reader } = statement
  const columns = reader ? statement.columns() : []

  let expected: number | undefined
  // A value that is missing would be the one of the call before, perhaps of another account.
  const check = (args: object) => {
    const given = Array.isArray(args) ? args.length : -1
    expected ??= given
    if (given !== expected) throw new TypeError(`The statement takes ${expected} values and was given ${given}`)
  }
  const [all, run] = [statement.all.bind(statement), statement.run.bind(statement)]

  // To fetch all rows the driver opens a cursor, which costs more than most of our queries; one row it just gives.
  // A statement of its own does that: `get` resets it behind a call and not before, so behind `all` it would
  // answer for the values of the call before.
  let single: PreparedStatement | undefined
  const rows = (args: object) => {
    if (!endsInLimit || !Array.isArray(args) || args[args.length - 1] !== 1) return all(args)
    const row: unknown = (single ??= configured(prepare())).get(args)
    return row === undefined ? [] : [row]
  }

  return Object.assign(statement, {
    safeIntegers: () => statement,
    raw() {
      if (!reader) throw returnsNothing
      return statement
    },
    columns: () => columns,
    all: (args: object) => guard(() => (check(args), rows(args))),
    run: (args: object) => guard(() => (check(args), run(args))),
  })
}

function configured(statement: PreparedStatement): PreparedStatement {
  statement.safeIntegers(true)
  if (statement.reader) statement.raw(true)
  return statement
}

/** How the driver finds out that a statement has no rows. */
const returnsNothing = new TypeError('The statement returns no rows')
