/** Who belongs to the account, and who was asked to. */
import { and, asc, desc, eq, exists, isNull, ne, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { invitations, memberships, users } from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope, type Statement } from '../driver/binding.ts'

/** A person in the account. `since` is in milliseconds since the epoch. */
export interface Member {
  userId: string
  name: string
  email: string
  role: Role
  since: number
}

/** Somebody asked in who has not come yet; it may have expired. Times are milliseconds since the epoch. */
export interface Invitation {
  id: string
  email: string
  role: Role
  /** The name of the person who asks, or their address. */
  invitedBy: string
  createdAt: number
  expiresAt: number
}

/** An invitation about to be stored. */
export interface NewInvitation {
  id: string
  email: string
  role: Role
  tokenHash: string
  /** The id of the person who asks. */
  invitedBy: string
  expiresAt: number
}

export function prepareTeam(db: Db) {
  const memberFields = {
    userId: memberships.userId,
    name: users.name,
    email: users.email,
    role: memberships.role,
    since: memberships.createdAt,
  }
  const isUser = eq(users.id, memberships.userId)
  const members = db.select(memberFields).from(memberships).innerJoin(users, isUser)
    .where(own(memberships)).orderBy(asc(memberships.createdAt), asc(memberships.userId)).prepare()
  const member = db.select(memberFields).from(memberships).innerJoin(users, isUser)
    .where(own(memberships, eq(memberships.userId, p('user')))).prepare()
  const memberByEmail = db.select(memberFields).from(memberships).innerJoin(users, isUser)
    .where(own(memberships, eq(users.email, p('email')))).prepare()

  const oneOf = (list: string) => sql`${memberships.role} IN (SELECT value FROM json_each(${p(list)}))`
  const requireRole = demand(
    db,
    exists(
      db.select({ one: sql`1` }).from(memberships)
        .where(own(memberships, eq(memberships.userId, p('user')), oneOf('roles'))),
    ),
  )
  const requireOtherOwner = demand(
    db,
    exists(
      db.select({ one: sql`1` }).from(memberships)
        .where(own(memberships, eq(memberships.role, sql`'owner'`), ne(memberships.userId, p('user')))),
    ),
  )
  const addMember = db.insert(memberships)
    .values(mine({ userId: p('user'), role: p('role'), createdAt: p('at') })).onConflictDoNothing().toSQL()
  const setRole = db.update(memberships).set({ role: sql`${p('role')}` })
    .where(own(memberships, eq(memberships.userId, p('user')))).toSQL()
  const remove = db.delete(memberships).where(own(memberships, eq(memberships.userId, p('user')))).toSQL()

  const isPending = and(isNull(invitations.acceptedAt), isNull(invitations.endedAt))
  const inviter = alias(users, 'inviter')
  const invitationFields = {
    id: invitations.id,
    email: invitations.email,
    role: invitations.role,
    invitedBy: sql<string>`coalesce(nullif(${inviter.name}, ''), ${inviter.email})`,
    createdAt: invitations.createdAt,
    expiresAt: invitations.expiresAt,
  }
  const pending = db.select(invitationFields).from(invitations).innerJoin(
    inviter,
    eq(inviter.id, invitations.invitedBy),
  )
    .where(own(invitations, isPending)).orderBy(desc(invitations.createdAt), desc(invitations.id)).prepare()
  const invitation = db.select(invitationFields).from(invitations)
    .innerJoin(inviter, eq(inviter.id, invitations.invitedBy))
    .where(own(invitations, eq(invitations.id, p('id')), isPending)).prepare()
  const requirePending = demand(
    db,
    exists(
      db.select({ one: sql`1` }).from(invitations).where(own(invitations, eq(invitations.id, p('id')), isPending)),
    ),
  )
  const addInvitation = db.insert(invitations).values(mine({
    id: p('id'),
    email: p('email'),
    role: p('role'),
    tokenHash: p('tokenHash'),
    invitedBy: p('invitedBy'),
    createdAt: p('at'),
    expiresAt: p('expiresAt'),
  })).onConflictDoNothing().toSQL()
  const end = db.update(invitations).set({ endedAt: sql`${p('at')}` })
    .where(own(invitations, eq(invitations.id, p('id')), isPending)).toSQL()
  const endFor = db.update(invitations).set({ endedAt: sql`${p('at')}` })
    .where(own(invitations, eq(invitations.email, p('email')), isPending)).toSQL()
  const endBy = db.update(invitations).set({ endedAt: sql`${p('at')}` }).where(own(
    invitations,
    eq(invitations.invitedBy, p('user')),
    isPending,
    sql`${invitations.role} NOT IN (SELECT value FROM json_each(${p('kept')}))`,
  )).toSQL()
  const accept = db.update(invitations).set({ acceptedAt: sql`${p('at')}` })
    .where(own(invitations, eq(invitations.id, p('id')), isPending)).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** Everybody of the account, in the order of joining. */
      members: (): Promise<Member[]> => scope.all(members),
      member: (user: string): Promise<Member | undefined> => scope.one(member, { user }),
      memberByEmail: (email: string): Promise<Member | undefined> => scope.one(memberByEmail, { email }),
      /** Invitations that nobody accepted or ended, the newest first; also those that have expired. */
      invitations: (): Promise<Invitation[]> => scope.all(pending),
      invitation: (id: string): Promise<Invitation | undefined> => scope.one(invitation, { id }),
    }),
    changes: (scope: Scope) => ({
      /** Fails the unit unless the person has one of these roles when it runs. */
      requireRole: (user: string, roles: readonly Role[]): Statement =>
        scope.bind(requireRole, { user, roles: JSON.stringify(roles) }),
      /** Fails the unit unless somebody else is owner too. */
      requireOtherOwner: (user: string): Statement => scope.bind(requireOtherOwner, { user }),
      /** Somebody who belongs to the account already keeps their role. */
      addMember: (user: string, role: Role, at: number): Statement => scope.bind(addMember, { user, role, at }),
      setRole: (user: string, role: Role): Statement => scope.bind(setRole, { user, role }),
      remove: (user: string): Statement => scope.bind(remove, { user }),
      addInvitation: (invitation: NewInvitation, at: number): Statement =>
        scope.bind(addInvitation, { ...invitation, at }),
      /** Fails the unit unless the invitation was neither accepted nor ended when it runs. */
      requirePending: (id: string): Statement => scope.bind(requirePending, { id }),
      endInvitation: (id: string, at: number): Statement => scope.bind(end, { id, at }),
      /** End what a mail address was sent. */
      endInvitationsFor: (email: string, at: number): Statement => scope.bind(endFor, { email, at }),
      /** End what a person sent out, but for the roles they may still give. */
      endInvitationsBy: (user: string, kept: readonly Role[], at: number): Statement =>
        scope.bind(endBy, { user, kept: JSON.stringify(kept), at }),
      accept: (id: string, at: number): Statement => scope.bind(accept, { id, at }),
    }),
  }
}
