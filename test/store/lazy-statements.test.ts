/** A start builds no statement: those of a table are built when it is first used. */
import { drizzle } from 'drizzle-orm/libsql'
import { expect, test, vi } from 'vitest'
import { prepareAccountTables } from '../../src/store/account.ts'
import { prepareGlobalTables } from '../../src/store/global.ts'
import { Lookups } from '../../src/store/lookups.ts'

test('the statements of a table are built when it is first used, once for all accounts', () => {
  const db = drizzle('file::memory:')
  const { dialect } = db as unknown as { dialect: { sqlToQuery(): unknown } }
  const lookups = new Lookups(true)
  const build = vi.spyOn(dialect, 'sqlToQuery')
  const global = prepareGlobalTables(db, new Map(), lookups)
  const tablesOf = prepareAccountTables(db, new Map(), lookups)
  const { read, change } = tablesOf('one')
  expect(build).not.toHaveBeenCalled()

  void [global.users, read.inbox, change.messages]
  const built = build.mock.calls.length
  void [global.users, read.inbox, tablesOf('two').read.inbox, tablesOf('two').change.messages]

  expect(built).toBeGreaterThan(0)
  expect(build).toHaveBeenCalledTimes(built)
})
