/**
 * Prints, as JSON, where each store query is declared and which columns it returns in the migrated database. It is a
 * separate program, because it must run before the store's modules are loaded.
 */
import Database from 'libsql'
import { migrations } from '../../db/migrations.ts'
import { allQueries } from '../../src/store/sql.ts'

export interface DeclaredQuery {
  /** The path, line and column of the declaration. */
  place: string
  columns: { name: string; type: string | null }[]
}

const places = new Map<unknown, string>()
allQueries.push = (...queries) => {
  // The first stack frame outside of `sql.ts`.
  const [place] = /src\/(?!store\/sql\.ts)\S*:\d+:\d+/.exec(new Error().stack ?? '') ?? ['']
  for (const query of queries) places.set(query, place)
  return Array.prototype.push.apply(allQueries, queries)
}
await import('../../src/store/store.ts')

const database = new Database(':memory:')
for (const { statements } of migrations) for (const statement of statements) database.exec(statement)
const found = allQueries.map((query): DeclaredQuery => ({
  place: places.get(query) ?? '',
  // deno-lint-ignore no-explicit-any -- the types of the driver leave it out
  columns: (database.prepare(query.sql) as any).columns().map(({ name, type }: any) => ({ name, type })),
}))
console.log(JSON.stringify(found))
