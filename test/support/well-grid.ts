/** A stopped grid that was in use. The doctor finds no faults in it. */
import { createClient } from '@libsql/client'
import { join } from 'node:path'
import { freePort } from '../../src/lib/free-port.ts'
import { followLog } from '../../src/worker/followers.ts'
import { storeOf, testGrid } from './grid.ts'
import { makeJudge } from './guardrails.ts'
import { sendMessage } from './messaging.ts'
import { type TemporaryDatabase, temporaryDatabase } from './process.ts'

export interface WellGrid extends TemporaryDatabase {
  path: string
  /** The grid's settings. */
  env: Record<string, string>
}

/** Checks of the machine, which tests ignore. Faults of the disk that tests run on are not faults of the grid. */
export const checksOfMachine = ['disk', 'durability']

/** Creates a grid with an unread message, placed messages, and a token of another service. */
export async function wellGrid(): Promise<WellGrid> {
  const database = temporaryDatabase()
  const path = join(database.folder, 'grid.db')
  const grid = await testGrid({ url: database.url })
  grid.clock.now = Date.now()
  await makeJudge(grid.acme)
  await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'hello' })
  await followLog(grid.store)
  await grid.close()
  await runSql(path, `INSERT OR REPLACE INTO store_facts (key, value) VALUES ('clock', '${Date.now()}')`)
  const port = String(await freePort('127.0.0.1'))
  return { ...database, path, env: { DATABASE_URL: database.url, PORT: port, MIN_FREE_MB: '1' } }
}

/** Runs statements on a database file that no other process uses. */
export async function runSql(path: string, ...statements: string[]): Promise<void> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 })
  for (const statement of statements) await client.execute(statement)
  client.close()
}
