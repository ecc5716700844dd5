/** The row of the account itself. */
import { and, eq, exists, sql } from 'drizzle-orm'
import { accounts } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

export function prepareProfile(db: Db) {
  const rename = db.update(accounts).set({ name: sql`${p('name')}` }).where(eq(accounts.id, p('account'))).toSQL()
  const requireSecondFactor = db.update(accounts).set({ requiresSecondFactor: sql`${p('isRequired')}` })
    .where(eq(accounts.id, p('account'))).toSQL()

  const showContents = db.update(accounts).set({ peopleSeeContents: sql`${p('isVisible')}` })
    .where(eq(accounts.id, p('account'))).toSQL()
  const contents = db.select({ isVisible: accounts.peopleSeeContents }).from(accounts)
    .where(eq(accounts.id, p('account'))).prepare()

  const accountName = db.select({ name: accounts.name }).from(accounts).where(eq(accounts.id, p('account'))).prepare()

  const setPeopleRead = db.update(accounts).set({ peopleReadSince: sql`${p('since')}` })
    .where(eq(accounts.id, p('account'))).toSQL()
  const peopleRead = db.select({ since: accounts.peopleReadSince }).from(accounts)
    .where(eq(accounts.id, p('account'))).prepare()

  const unchanged = db.select({ one: sql`1` }).from(accounts)
    .where(and(eq(accounts.id, p('account')), sql`${accounts.peopleReadSince} IS ${p('since')}`))
  const requirePeopleReadSince = precondition(db, exists(unchanged))

  return {
    reads: (account: AccountBinding) => ({
      accountName: async () => (await account.one(accountName))!.name,
      /** Whether the texts of blocked messages are kept for people to see. */
      showsContents: async () => (await account.one(contents))?.isVisible ?? false,
      /**
       * Since when owners and admins can read what agents write to each other, in milliseconds since the epoch: 0 for
       * everything, null if they cannot.
       */
      peopleReadSince: async () => (await account.one(peopleRead))?.since ?? null,
    }),
    changes: (account: AccountBinding) => ({
      rename: (name: string): Statement => account.bind(rename, { name }),
      /** Whether owners and admins must have a second factor. */
      requireSecondFactor: (isRequired: boolean): Statement =>
        account.bind(requireSecondFactor, { isRequired: Number(isRequired) }),
      /** Fails the unit unless this is since when owners and admins can read messages of agents when it runs. */
      requirePeopleReadSince: (since: number | null): Statement => account.bind(requirePeopleReadSince, { since }),
      /** Since when owners and admins can read what agents write to each other; null: not at all. */
      setPeopleRead: (since: number | null): Statement => account.bind(setPeopleRead, { since }),
      /** Whether the texts of blocked messages are kept for people to see. */
      showContents: (isVisible: boolean): Statement => account.bind(showContents, { isVisible: Number(isVisible) }),
    }),
  }
}
