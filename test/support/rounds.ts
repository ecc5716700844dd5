/** Counts how often a call would wait for a remote database. Uses a local file and no clock. */
import type { Client, InStatement } from '@libsql/client'
import { AsyncLocalStorage } from 'node:async_hooks'
import { connect } from '../../src/store/driver/remote-client.ts'
import { plain } from '../../src/store/driver/prepared-statement.ts'
import { RemoteQueries } from '../../src/store/driver/remote-queries.ts'
import type { StoreOptions } from '../../src/store/store.ts'

/** The query texts of each database round trip. */
type Rounds = string[][]

const counted = new AsyncLocalStorage<RemoteQueries>()
let execute: Client['execute']

/** The `connect` option for a grid whose queries `roundsOf` counts. */
export const countingConnect: StoreOptions['connect'] = (settings) => {
  const client = connect(settings)
  const direct = client.execute.bind(client)
  execute = direct
  client.execute = (statement: InStatement) => counted.getStore()?.execute(plain(statement)) ?? direct(statement)
  return client
}

/**
 * Returns a call's queries by round trip, as on a remote database. Does not count concurrent work, such as the loop's.
 */
export async function roundsOf<Result>(call: () => Promise<Result>): Promise<{ rounds: Rounds; result: Result }> {
  const rounds: Rounds = []
  const queries = new RemoteQueries(async (statements) => {
    rounds.push(statements.map(({ sql }) => sql))
    return await Promise.all(statements.map((each) => execute(each).catch((error: Error) => error)))
  })
  const result = await counted.run(queries, call)
  return { rounds, result }
}
