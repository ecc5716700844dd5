import { and, count, eq, exists, isNotNull, isNull, sql } from 'drizzle-orm'
import { accounts, memberships, users } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, demand, p, type Statement } from '../driver/binding.ts'

/** A person. Times are milliseconds since the epoch. */
export type User = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareUsers>['byId']>>>

/** An account a person belongs to, with their role in it. */
export type Membership = Awaited<ReturnType<ReturnType<typeof prepareUsers>['memberships']>>[number]

export function prepareUsers(db: Db, crossings: Crossings) {
  const user = {
    id: users.id,
    email: users.email,
    name: users.name,
    passwordHash: users.passwordHash,
    emailVerifiedAt: users.emailVerifiedAt,
    createdAt: users.createdAt,
  }
  const byEmail = db.select(user).from(users).where(eq(users.email, p('email'))).prepare()
  const byId = db.select(user).from(users).where(eq(users.id, p('id'))).prepare()
  const first = db.select({ id: users.id }).from(users).limit(1).prepare()
  const ofUser = db.select({
    id: accounts.id,
    name: accounts.name,
    role: memberships.role,
    since: memberships.createdAt,
  }).from(memberships).innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .where(eq(memberships.userId, p('user'))).orderBy(memberships.createdAt, accounts.id).prepare()
  crossings.set(ofUser.getQuery().sql, 'memberships of a user')

  const add = db.insert(users).values({
    id: p('id'),
    email: p('email'),
    name: p('name'),
    passwordHash: p('passwordHash'),
    emailVerifiedAt: p('verifiedAt'),
    createdAt: p('at'),
  }).toSQL()
  const addMembership = db.insert(memberships)
    .values({ accountId: p('account'), userId: p('user'), role: p('role'), createdAt: p('at') }).toSQL()
  const setName = db.update(users).set({ name: sql`${p('name')}` }).where(eq(users.id, p('id'))).toSQL()
  const setPassword = db.update(users).set({ passwordHash: sql`${p('hash')}` }).where(eq(users.id, p('id'))).toSQL()
  const proveEmail = db.update(users).set({ emailVerifiedAt: sql`${p('at')}` })
    .where(and(eq(users.id, p('id')), eq(users.email, p('email')), isNull(users.emailVerifiedAt))).toSQL()

  const setEmail = db.update(users).set({ email: sql`${p('email')}`, emailVerifiedAt: sql`${p('at')}` })
    .where(eq(users.id, p('id'))).toSQL()
  const proved = db.select({ id: users.id }).from(users)
    .where(and(eq(users.id, p('id')), eq(users.email, p('email')), isNotNull(users.emailVerifiedAt)))
  const requireProved = demand(db, exists(proved))
  const owned = db.select({ n: count() }).from(memberships)
    .where(and(eq(memberships.userId, p('id')), eq(memberships.role, sql`'owner'`)))
  const requireOwnsFewer = demand(db, sql`(${owned}) < ${p('max')}`)
  crossings.set(requireOwnsFewer.sql, 'accounts a person owns')
  const unchanged = db.select({ id: users.id }).from(users)
    .where(and(eq(users.id, p('id')), eq(users.passwordHash, p('hash'))))
  const requirePassword = demand(db, exists(unchanged))

  return {
    byEmail: async (email: string) => (await ask(byEmail, { email }))[0],
    byId: async (id: string) => (await ask(byId, { id }))[0],
    /** Whether there is any person at all. */
    any: async () => (await first.all()).length > 0,
    /** The accounts a person belongs to now, in the order of joining. */
    memberships: (user: string) => ask(ofUser, { user }),
    /** A constraint error when the address has a user. `verifiedAt`: the mailbox is proved already. */
    add: (
      user: { id: string; email: string; name?: string; passwordHash: string | null; verifiedAt?: number },
      at: number,
    ): Statement => bind(add, { ...user, name: user.name ?? '', verifiedAt: user.verifiedAt ?? null, at }),
    addMembership: (
      account: string,
      user: string,
      role: typeof memberships.$inferInsert.role,
      at: number,
    ): Statement => bind(addMembership, { account, user, role, at }),
    setName: (id: string, name: string): Statement => bind(setName, { id, name }),
    setPassword: (id: string, hash: string): Statement => bind(setPassword, { id, hash }),
    /** The person showed that the mailbox is theirs, unless their address has changed since. */
    proveEmail: (id: string, email: string, at: number): Statement => bind(proveEmail, { id, email, at }),
    /** Another address, which the person proved. A constraint error when it has a user. */
    setEmail: (id: string, email: string, at: number): Statement => bind(setEmail, { id, email, at }),
    /** Fails the unit unless this is the person's address, and proved, when it runs. */
    requireProved: (id: string, email: string): Statement => bind(requireProved, { id, email }),
    /** Fails the unit unless the person owns fewer accounts than `max` when it runs. */
    requireOwnsFewer: (id: string, max: number): Statement => bind(requireOwnsFewer, { id, max }),
    /** Fails the unit unless this is still what the person's password is checked against. */
    requirePassword: (id: string, hash: string): Statement => bind(requirePassword, { id, hash }),
  }
}
