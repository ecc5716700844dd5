import { eq } from 'drizzle-orm'
import { memberships, users } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { ask, bind, p, type Statement } from '../bound.ts'

export function prepareUsers(db: Db) {
  const byEmail = db.select({ id: users.id, email: users.email }).from(users).where(eq(users.email, p('email')))
    .prepare()
  const add = db.insert(users)
    .values({ id: p('id'), email: p('email'), passwordHash: p('passwordHash'), createdAt: p('at') }).toSQL()
  const addMembership = db.insert(memberships)
    .values({ accountId: p('account'), userId: p('user'), role: p('role'), createdAt: p('at') }).toSQL()
  return {
    byEmail: async (email: string) => (await ask(byEmail, { email }))[0],
    /** A constraint error when the address has a user. */
    add: (user: { id: string; email: string; passwordHash: string | null }, at: number): Statement =>
      bind(add, { ...user, at }),
    addMembership: (
      account: string,
      user: string,
      role: typeof memberships.$inferInsert.role,
      at: number,
    ): Statement => bind(addMembership, { account, user, role, at }),
  }
}
