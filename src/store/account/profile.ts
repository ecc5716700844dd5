/** The row of the account itself. */
import { eq, sql } from 'drizzle-orm'
import { accounts } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

export function prepareProfile(db: Db) {
  const rename = db.update(accounts).set({ name: sql`${p('name')}` }).where(eq(accounts.id, p('account'))).toSQL()
  const requireSecondFactor = db.update(accounts).set({ requiresSecondFactor: sql`${p('isRequired')}` })
    .where(eq(accounts.id, p('account'))).toSQL()

  const showContents = db.update(accounts).set({ peopleSeeContents: sql`${p('isVisible')}` })
    .where(eq(accounts.id, p('account'))).toSQL()
  const contents = db.select({ isVisible: accounts.peopleSeeContents }).from(accounts)
    .where(eq(accounts.id, p('account'))).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** Whether the texts of blocked messages are kept for people to see. */
      showsContents: async () => (await account.one(contents))?.isVisible ?? false,
    }),
    changes: (account: AccountBinding) => ({
      rename: (name: string): Statement => account.bind(rename, { name }),
      /** Whether owners and admins must have a second factor. */
      requireSecondFactor: (isRequired: boolean): Statement =>
        account.bind(requireSecondFactor, { isRequired: Number(isRequired) }),
      /** Whether the texts of blocked messages are kept for people to see. */
      showContents: (isVisible: boolean): Statement => account.bind(showContents, { isVisible: Number(isVisible) }),
    }),
  }
}
