import type { memberships as table } from '../../../db/schema.ts'
import {
  boolean,
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  precondition,
  preconditionText,
  query,
  type Statement,
  statement,
} from '../sql.ts'
import { isLiveSession } from './sessions.ts'

type Role = typeof table.$inferSelect.role

export interface User {
  id: string
  email: string
  name: string
  passwordHash: string | null
  emailVerifiedAt: number | null
  createdAt: number
  registeredByShownLink: boolean
}

/** An account that a user belongs to, with their role. */
export interface Membership {
  id: string
  name: string
  role: Role
  since: number
  requiresSecondFactor: boolean
  /** The account's members must sign in with its provider. */
  requiresProvider: boolean
  /** When an owner deleted the account; null if none did. */
  deletedAt: number | null
}

const userFields = 'id, email, name, password_hash, email_verified_at, created_at, registered_by_shown_link'
const byEmail = query<User>(`SELECT ${userFields} FROM users WHERE email = :email`, { registeredByShownLink: boolean })
const byId = query<User>(`SELECT ${userFields} FROM users WHERE id = :id`, { registeredByShownLink: boolean })
const first = query<{ id: string }>(`SELECT id FROM users LIMIT 1`)
const firstLockedOut = query<{ email: string }>(`
  SELECT email FROM users
  WHERE NOT EXISTS (SELECT 1 FROM users WHERE password_hash IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM passkeys)
  ORDER BY created_at, id LIMIT 1`)
const memberships = (user: string) => `
  SELECT accounts.id, accounts.name, memberships.role, memberships.created_at AS since, accounts.requires_second_factor,
    coalesce(sso_providers.is_required, 0) AS requires_provider,
    accounts.deleted_at
  FROM memberships JOIN accounts ON accounts.id = memberships.account_id
  LEFT JOIN sso_providers ON sso_providers.account_id = memberships.account_id
  WHERE memberships.user_id = ${user}
  ORDER BY memberships.created_at, accounts.id`
const membershipDecoders = { requiresSecondFactor: boolean, requiresProvider: boolean }
const ofUser = crossAccountQuery<Membership>('memberships of a user', memberships(':user'), membershipDecoders)
const ofSession = crossAccountQuery<Membership>(
  'memberships of a session',
  memberships(`(SELECT sessions.user_id FROM sessions WHERE sessions.token_hash = :hash AND ${isLiveSession})`),
  membershipDecoders,
)

const add = statement(`
  INSERT INTO users (id, email, name, password_hash, email_verified_at, created_at, registered_by_shown_link)
  VALUES (:id, :email, :name, :passwordHash, :verifiedAt, :at, :registeredByShownLink)`)
const setName = statement(`UPDATE users SET name = :name WHERE id = :id`)
const setShortcuts = statement(`UPDATE users SET shortcuts = :on WHERE id = :id`)
const setPassword = statement(`UPDATE users SET password_hash = :hash WHERE id = :id`)
const removePassword = statement(`UPDATE users SET password_hash = NULL WHERE id = :id`)
const verifyEmail = statement(`
  UPDATE users SET email_verified_at = :at WHERE id = :id AND email = :email AND email_verified_at IS NULL`)
const setEmail = statement(`UPDATE users SET email = :email, email_verified_at = :at WHERE id = :id`)
const requireVerifiedEmail = precondition(
  `EXISTS (SELECT 1 FROM users WHERE id = :id AND email = :email AND email_verified_at IS NOT NULL)`,
)
const requireOwnsFewerThan = crossAccountStatement(
  'accounts owned by a user',
  preconditionText(`(SELECT count(*) FROM memberships WHERE user_id = :id AND role = 'owner') < :max`),
)
const requirePassword = precondition(`EXISTS (SELECT 1 FROM users WHERE id = :id AND password_hash = :hash)`)

export const users = (db: Db) => ({
  byEmail: (email: string) => db.one(byEmail, { email }),
  byId: (id: string) => db.one(byId, { id }),
  any: async () => (await db.one(first)) !== undefined,
  /** The first user of the grid, if no user has a password or a passkey. */
  firstLockedOut: () => db.one(firstLockedOut),
  memberships: (user: string) => db.all(ofUser, { user }),
  /** The memberships of a live session's user, as `sessions.byToken` finds it. */
  membershipsOfSession: (hash: string, now: number, idleSince: number) => db.all(ofSession, { hash, now, idleSince }),
  /** Fails with a constraint error if another user has the email address. */
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
  ): Statement => db.bind(add, { ...user, name, verifiedAt, registeredByShownLink, at }),
  setName: (id: string, name: string): Statement => db.bind(setName, { id, name }),
  setShortcuts: (id: string, on: boolean): Statement => db.bind(setShortcuts, { id, on }),
  setPassword: (id: string, hash: string): Statement => db.bind(setPassword, { id, hash }),
  removePassword: (id: string): Statement => db.bind(removePassword, { id }),
  /** Marks the email address as verified, unless it has since changed. */
  verifyEmail: (id: string, email: string, at: number): Statement => db.bind(verifyEmail, { id, email, at }),
  /** Sets a different, verified email address. Fails with a constraint error if another user has it. */
  setEmail: (id: string, email: string, at: number): Statement => db.bind(setEmail, { id, email, at }),
  requireVerifiedEmail: (id: string, email: string): Statement => db.bind(requireVerifiedEmail, { id, email }),
  requireOwnsFewerThan: (id: string, max: number): Statement => db.bind(requireOwnsFewerThan, { id, max }),
  requirePassword: (id: string, hash: string): Statement => db.bind(requirePassword, { id, hash }),
})
