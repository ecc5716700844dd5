/** Everything that the store prepares, as drizzle builds it: also what no test runs. */
import { createClient } from '@libsql/client'
import { is, Param, Placeholder, type Query, type SQL } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/libsql'
import { prepareAccountTables } from '../../src/store/account.ts'
import { prepareGlobalTables } from '../../src/store/global.ts'
import { Db } from '../../src/store/sql.ts'

export interface PreparedStatements {
  /** The statements of one account, by their SQL, without its cross-account queries. */
  ofAccount: Map<string, Query>
  /** All others, by their SQL. */
  others: Map<string, Query>
  /** The names of cross-account queries, by their SQL. */
  crossAccountQueries: Map<string, string>
}

export function preparedStatements(): PreparedStatements {
  const client = createClient({ url: 'file::memory:' })
  const db = drizzle({ client })
  const { dialect } = db as unknown as { dialect: { sqlToQuery(statement: SQL, ...more: unknown[]): Query } }
  const crossAccountQueries = new Map<string, string>()
  const built = (prepare: () => object) => {
    const found = new Map<string, Query>()
    const build = dialect.sqlToQuery
    dialect.sqlToQuery = function (...args) {
      const query = build.apply(this, args)
      found.set(query.sql, query)
      return query
    }
    readAll(prepare())
    dialect.sqlToQuery = build
    return found
  }
  const ofAccount = built(() => prepareAccountTables(db, new Db(client))('an account').read)
  const others = built(() => prepareGlobalTables(db, new Db(client), crossAccountQueries))
  for (const sql of crossAccountQueries.keys()) {
    const query = ofAccount.get(sql)
    if (!query) continue
    others.set(sql, query)
    ofAccount.delete(sql)
  }
  client.close()
  return { ofAccount, others, crossAccountQueries }
}

/** Tables are prepared when they are first read. */
function readAll(tables: object): void {
  for (const name in tables) void tables[name as keyof typeof tables]
}

/** The names of the placeholders of a statement. */
export function placeholdersOf({ params }: Query): string[] {
  const names = params.flatMap((param) => {
    const value = is(param, Param) ? param.value : param
    return is(value, Placeholder) ? [value.name] : []
  })
  return [...new Set(names)]
}
