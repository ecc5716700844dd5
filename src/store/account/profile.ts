/** The account's own row. */
import { eq, sql } from 'drizzle-orm'
import { accounts } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { p, type Scope, type Statement } from '../driver/binding.ts'

export function prepareProfile(db: Db) {
  const rename = db.update(accounts).set({ name: sql`${p('name')}` }).where(eq(accounts.id, p('account'))).toSQL()

  return {
    reads: (_: Scope) => ({}),
    changes: (scope: Scope) => ({
      rename: (name: string): Statement => scope.bind(rename, { name }),
    }),
  }
}
