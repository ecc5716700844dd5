import { and, count, eq, exists, isNotNull, isNull, notExists, sql } from 'drizzle-orm'
import { accounts, memberships, passkeys, users } from '../../../db/schema.ts'
import { bind, p, precondition, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** A user. Times are milliseconds since the epoch. */
export type User = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareUsers>['byId']>>>

/** An account that a user belongs to, with the role in it. */
export type Membership = Awaited<ReturnType<ReturnType<typeof prepareUsers>['memberships']>>[number]

export function prepareUsers(db: Db, crossAccountQueries: CrossAccountQueries) {
  const user = {
    id: users.id,
    email: users.email,
    name: users.name,
    passwordHash: users.passwordHash,
    emailVerifiedAt: users.emailVerifiedAt,
    createdAt: users.createdAt,
    registeredByShownLink: users.registeredByShownLink,
  }
  const byEmail = db.select(user).from(users).where(eq(users.email, p('email'))).prepare()
  const byId = db.select(user).from(users).where(eq(users.id, p('id'))).prepare()
  const first = db.select({ id: users.id }).from(users).limit(1).prepare()
  const withPassword = db.select({ one: sql`1` }).from(users).where(isNotNull(users.passwordHash))
  const anyPasskey = db.select({ one: sql`1` }).from(passkeys)
  const firstLockedOut = db.select({ email: users.email }).from(users)
    .where(and(notExists(withPassword), notExists(anyPasskey))).orderBy(users.createdAt, users.id).limit(1).prepare()
  const ofUser = db.select({
    id: accounts.id,
    name: accounts.name,
    role: memberships.role,
    since: memberships.createdAt,
    requiresSecondFactor: accounts.requiresSecondFactor,
  }).from(memberships).innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .where(eq(memberships.userId, p('user'))).orderBy(memberships.createdAt, accounts.id).prepare()
  crossAccountQueries.set(ofUser.getQuery().sql, 'memberships of a user')

  const add = db.insert(users).values({
    id: p('id'),
    email: p('email'),
    name: p('name'),
    passwordHash: p('passwordHash'),
    emailVerifiedAt: p('verifiedAt'),
    createdAt: p('at'),
    registeredByShownLink: p('registeredByShownLink'),
  }).toSQL()
  const addMembership = db.insert(memberships)
    .values({ accountId: p('account'), userId: p('user'), role: p('role'), createdAt: p('at') }).toSQL()
  const setName = db.update(users).set({ name: sql`${p('name')}` }).where(eq(users.id, p('id'))).toSQL()
  const setShortcuts = db.update(users).set({ shortcuts: sql`${p('on')}` }).where(eq(users.id, p('id'))).toSQL()
  const setPassword = db.update(users).set({ passwordHash: sql`${p('hash')}` }).where(eq(users.id, p('id'))).toSQL()
  const removePassword = db.update(users).set({ passwordHash: null }).where(eq(users.id, p('id'))).toSQL()
  const verifyEmail = db.update(users).set({ emailVerifiedAt: sql`${p('at')}` })
    .where(and(eq(users.id, p('id')), eq(users.email, p('email')), isNull(users.emailVerifiedAt))).toSQL()

  const setEmail = db.update(users).set({ email: sql`${p('email')}`, emailVerifiedAt: sql`${p('at')}` })
    .where(eq(users.id, p('id'))).toSQL()
  const verified = db.select({ id: users.id }).from(users)
    .where(and(eq(users.id, p('id')), eq(users.email, p('email')), isNotNull(users.emailVerifiedAt)))
  const requireVerifiedEmail = precondition(db, exists(verified))
  const addressed = db.select({ id: users.id }).from(users)
    .where(and(eq(users.id, p('id')), eq(users.email, p('email'))))
  const requireEmail = precondition(db, exists(addressed))
  const owned = db.select({ n: count() }).from(memberships)
    .where(and(eq(memberships.userId, p('id')), eq(memberships.role, sql`'owner'`)))
  const requireOwnsFewerThan = precondition(db, sql`(${owned}) < ${p('max')}`)
  crossAccountQueries.set(requireOwnsFewerThan.sql, 'accounts owned by a user')
  const unchanged = db.select({ id: users.id }).from(users)
    .where(and(eq(users.id, p('id')), eq(users.passwordHash, p('hash'))))
  const requirePassword = precondition(db, exists(unchanged))

  return {
    byEmail: async (email: string) => (await runQuery(byEmail, { email }))[0],
    byId: async (id: string) => (await runQuery(byId, { id }))[0],
    /** Whether there is any user at all. */
    any: async () => (await first.all()).length > 0,
    /** The first user of the grid, if no user has a password or a passkey. */
    firstLockedOut: async () => (await firstLockedOut.all())[0],
    /** The accounts of a user, in the order of joining. */
    memberships: (user: string) => runQuery(ofUser, { user }),
    /**
     * A constraint error if another user has the email address. `verifiedAt` if the address is verified already;
     * `registeredByShownLink` if the inviter may have registered the user.
     */
    add: (
      { name = '', verifiedAt = null, registeredByShownLink = false, ...user }: {
        id: string
        email: string
        name?: string
        passwordHash: string | null
        verifiedAt?: number | null
        registeredByShownLink?: boolean
      },
      at: number,
    ): Statement => bind(add, { ...user, name, verifiedAt, registeredByShownLink: Number(registeredByShownLink), at }),
    addMembership: (
      account: string,
      user: string,
      role: typeof memberships.$inferInsert.role,
      at: number,
    ): Statement => bind(addMembership, { account, user, role, at }),
    setName: (id: string, name: string): Statement => bind(setName, { id, name }),
    /** Whether single keys do something on the user's pages. */
    setShortcuts: (id: string, on: boolean): Statement => bind(setShortcuts, { id, on: Number(on) }),
    setPassword: (id: string, hash: string): Statement => bind(setPassword, { id, hash }),
    removePassword: (id: string): Statement => bind(removePassword, { id }),
    /** Mark the email address as verified, unless it has changed since. */
    verifyEmail: (id: string, email: string, at: number): Statement => bind(verifyEmail, { id, email, at }),
    /** Set another, verified email address. A constraint error if another user has it. */
    setEmail: (id: string, email: string, at: number): Statement => bind(setEmail, { id, email, at }),
    /** Fails the unit unless this is the user's email address when it runs. */
    requireEmail: (id: string, email: string): Statement => bind(requireEmail, { id, email }),
    /** Fails the unit unless this is the user's email address, and verified, when it runs. */
    requireVerifiedEmail: (id: string, email: string): Statement => bind(requireVerifiedEmail, { id, email }),
    /** Fails the unit unless the user owns fewer accounts than `max` when it runs. */
    requireOwnsFewerThan: (id: string, max: number): Statement => bind(requireOwnsFewerThan, { id, max }),
    /** Fails the unit unless this is still the user's password hash when it runs. */
    requirePassword: (id: string, hash: string): Statement => bind(requirePassword, { id, hash }),
  }
}
