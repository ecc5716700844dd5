/** The members of the account, and the users invited to it. */
import { and, asc, desc, eq, exists, isNull, ne, not, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { invitations, memberships, users } from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import { type AccountBinding, p, precondition, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { hasSecondFactor } from '../global/second-factors.ts'
import { inAccount, withAccount } from '../in-account-old.ts'

/** A user who belongs to the account. `since` is in milliseconds since the epoch. */
export interface AccountMember {
  userId: string
  name: string
  email: string
  role: Role
  since: number
  hasSecondFactor: boolean
}

/** An invitation that was neither accepted nor ended; it may have expired. Times are milliseconds since the epoch. */
export interface Invitation {
  id: string
  email: string
  role: Role
  /** The name of the inviting user, or the email address without a name. */
  invitedBy: string
  createdAt: number
  expiresAt: number
  /** Whether the inviter was shown the link. */
  isLinkShown: boolean
}

/** An invitation about to be stored. */
export interface NewInvitation {
  id: string
  email: string
  role: Role
  tokenHash: string
  /** The id of the inviting user. */
  invitedBy: string
  expiresAt: number
  /** Whether the inviter may be shown the link. Default: no. It happens only if the address has no user yet. */
  mayShowLink?: boolean
}

export function prepareTeam(db: Db) {
  const memberFields = {
    userId: memberships.userId,
    name: users.name,
    email: users.email,
    role: memberships.role,
    since: memberships.createdAt,
    hasSecondFactor: sql<boolean>`${hasSecondFactor(db, memberships.userId)}`.mapWith(Boolean),
  }
  const isUser = eq(users.id, memberships.userId)
  const members = db.select(memberFields).from(memberships).innerJoin(users, isUser)
    .where(inAccount(memberships)).orderBy(asc(memberships.createdAt), asc(memberships.userId)).prepare()
  const member = db.select(memberFields).from(memberships).innerJoin(users, isUser)
    .where(inAccount(memberships, eq(memberships.userId, p('user')))).prepare()
  const memberByEmail = db.select(memberFields).from(memberships).innerJoin(users, isUser)
    .where(inAccount(memberships, eq(users.email, p('email')))).prepare()

  const isRoleIn = (list: string) => sql`${memberships.role} IN (SELECT value FROM json_each(${p(list)}))`
  const requireRole = precondition(
    db,
    exists(
      db.select({ one: sql`1` }).from(memberships)
        .where(inAccount(memberships, eq(memberships.userId, p('user')), isRoleIn('roles'))),
    ),
  )
  const requireOtherOwner = precondition(
    db,
    exists(
      db.select({ one: sql`1` }).from(memberships)
        .where(inAccount(memberships, eq(memberships.role, sql`'owner'`), ne(memberships.userId, p('user')))),
    ),
  )
  const addMember = db.insert(memberships)
    .values(withAccount({ userId: p('user'), role: p('role'), createdAt: p('at') })).onConflictDoNothing().toSQL()
  const setRole = db.update(memberships).set({ role: sql`${p('role')}` })
    .where(inAccount(memberships, eq(memberships.userId, p('user')))).toSQL()
  const remove = db.delete(memberships).where(inAccount(memberships, eq(memberships.userId, p('user')))).toSQL()

  const isPending = and(isNull(invitations.acceptedAt), isNull(invitations.endedAt))
  const inviter = alias(users, 'inviter')
  const invitationFields = {
    id: invitations.id,
    email: invitations.email,
    role: invitations.role,
    invitedBy: sql<string>`coalesce(nullif(${inviter.name}, ''), ${inviter.email})`,
    createdAt: invitations.createdAt,
    expiresAt: invitations.expiresAt,
    isLinkShown: invitations.isLinkShown,
  }
  const pending = db.select(invitationFields).from(invitations).innerJoin(
    inviter,
    eq(inviter.id, invitations.invitedBy),
  )
    .where(inAccount(invitations, isPending)).orderBy(desc(invitations.createdAt), desc(invitations.id)).prepare()
  const invitation = db.select(invitationFields).from(invitations)
    .innerJoin(inviter, eq(inviter.id, invitations.invitedBy))
    .where(inAccount(invitations, eq(invitations.id, p('id')), isPending)).prepare()
  const requirePending = precondition(
    db,
    exists(
      db.select({ one: sql`1` }).from(invitations).where(
        inAccount(invitations, eq(invitations.id, p('id')), isPending),
      ),
    ),
  )
  const userWithEmail = db.select({ one: sql`1` }).from(users).where(eq(users.email, p('email')))
  const addInvitation = db.insert(invitations).values(withAccount({
    id: p('id'),
    email: p('email'),
    role: p('role'),
    tokenHash: p('tokenHash'),
    invitedBy: p('invitedBy'),
    createdAt: p('at'),
    expiresAt: p('expiresAt'),
    isLinkShown: sql`(${p('mayShowLink')} AND ${not(exists(userWithEmail))})`,
  })).onConflictDoNothing().toSQL()
  const end = db.update(invitations).set({ endedAt: sql`${p('at')}` })
    .where(inAccount(invitations, eq(invitations.id, p('id')), isPending)).toSQL()
  const endFor = db.update(invitations).set({ endedAt: sql`${p('at')}` })
    .where(inAccount(invitations, eq(invitations.email, p('email')), isPending)).toSQL()
  const endBy = db.update(invitations).set({ endedAt: sql`${p('at')}` }).where(inAccount(
    invitations,
    eq(invitations.invitedBy, p('user')),
    isPending,
    sql`${invitations.role} NOT IN (SELECT value FROM json_each(${p('kept')}))`,
  )).toSQL()
  const accept = db.update(invitations).set({ acceptedAt: sql`${p('at')}` })
    .where(inAccount(invitations, eq(invitations.id, p('id')), isPending)).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** All members, in the order of joining. */
      members: (): Promise<AccountMember[]> => account.all(members),
      member: (user: string): Promise<AccountMember | undefined> => account.one(member, { user }),
      memberByEmail: (email: string): Promise<AccountMember | undefined> => account.one(memberByEmail, { email }),
      /** Invitations that were neither accepted nor ended, newest first; also expired ones. */
      invitations: (): Promise<Invitation[]> => account.all(pending),
      invitation: (id: string): Promise<Invitation | undefined> => account.one(invitation, { id }),
    }),
    changes: (account: AccountBinding) => ({
      /** Fails the unit unless the user has one of these roles when it runs. */
      requireRole: (user: string, roles: readonly Role[]): Statement =>
        account.bind(requireRole, { user, roles: JSON.stringify(roles) }),
      /** Fails the unit unless another user is owner when it runs. */
      requireOtherOwner: (user: string): Statement => account.bind(requireOtherOwner, { user }),
      /** A user who is a member already keeps the role. */
      addMember: (user: string, role: Role, at: number): Statement => account.bind(addMember, { user, role, at }),
      setRole: (user: string, role: Role): Statement => account.bind(setRole, { user, role }),
      remove: (user: string): Statement => account.bind(remove, { user }),
      addInvitation: ({ mayShowLink = false, ...invitation }: NewInvitation, at: number): Statement =>
        account.bind(addInvitation, { ...invitation, mayShowLink: Number(mayShowLink), at }),
      /** Fails the unit unless the invitation was neither accepted nor ended when it runs. */
      requirePending: (id: string): Statement => account.bind(requirePending, { id }),
      endInvitation: (id: string, at: number): Statement => account.bind(end, { id, at }),
      /** End the invitations for an email address. */
      endInvitationsFor: (email: string, at: number): Statement => account.bind(endFor, { email, at }),
      /** End the invitations by a user, except those for the roles `kept`. */
      endInvitationsBy: (user: string, kept: readonly Role[], at: number): Statement =>
        account.bind(endBy, { user, kept: JSON.stringify(kept), at }),
      accept: (id: string, at: number): Statement => account.bind(accept, { id, at }),
    }),
  }
}
