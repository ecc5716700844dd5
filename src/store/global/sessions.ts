import { boolean, type Db, query, type Statement, statement } from '../sql.ts'
import { hasSecondFactor } from './second-factors.ts'
import type { Identity } from './identities.ts'

/** A new browser session. Times are milliseconds since the epoch. */
interface NewSession {
  id: string
  userId: string
  tokenHash: string
  expiresAt: number
  halfExpiresAt: number
  /** Whether the second factor was verified. Otherwise, if the user has one, this is a half session. */
  hasSecondFactor: boolean
  /** When the user last confirmed their identity; null if unknown. */
  confirmedAt: number | null
  /** The only account that the session can access; null for all of the user's accounts. */
  onlyAccount: string | null
  /** The provider's identity that started the session. */
  identity?: Identity | null
  userAgent: string
  address: string
}

interface SessionOfToken {
  id: string
  lastSeenAt: number
  awaitsSecondFactor: boolean
  confirmedAt: number | null
  onlyAccount: string | null
  ssoIssuer: string | null
  ssoSubject: string | null
  userId: string
  email: string
  name: string
  emailVerifiedAt: number | null
  shortcuts: boolean
  hasSecondFactor: boolean
}

/** A live session in a user's list of sessions. */
export interface ListedSession {
  id: string
  createdAt: number
  lastSeenAt: number
  expiresAt: number
  userAgent: string
  address: string
}

// The absolute expiry is stored; the idle expiry follows from the last use.
/** Conditions on a session's row, by `:now` and `:idleSince`. */
export const isLiveSession =
  `sessions.ended_at IS NULL AND sessions.expires_at > :now AND sessions.last_seen_at > :idleSince`
const byToken = query<SessionOfToken>(
  `
  SELECT sessions.id, sessions.last_seen_at, sessions.awaits_second_factor, sessions.confirmed_at,
    sessions.only_account, sessions.sso_issuer, sessions.sso_subject, users.id AS user_id, users.email, users.name, users.email_verified_at, users.shortcuts,
    ${hasSecondFactor('users.id')} AS has_second_factor
  FROM sessions JOIN users ON users.id = sessions.user_id
  WHERE sessions.token_hash = :hash AND ${isLiveSession}`,
  { awaitsSecondFactor: boolean, shortcuts: boolean, hasSecondFactor: boolean },
)
const ofUser = query<ListedSession>(`
  SELECT id, created_at, last_seen_at, expires_at, user_agent, address FROM sessions
  WHERE user_id = :user AND ${isLiveSession} AND awaits_second_factor = 0
  ORDER BY last_seen_at DESC`)
const fromAddress = query(`
  SELECT sessions.id FROM sessions JOIN users ON users.id = sessions.user_id
  WHERE users.email = :email AND sessions.address = :address AND sessions.awaits_second_factor = 0
  LIMIT 1`)

// The statement itself decides, so that a factor added at the same time counts.
const isHalf = `(:hasSecondFactor = 0 AND ${hasSecondFactor(':userId')})`
const add = statement(`
  INSERT INTO sessions
    (id, user_id, token_hash, created_at, last_seen_at, expires_at,
      awaits_second_factor, confirmed_at, only_account, sso_issuer, sso_subject, user_agent, address)
  VALUES (:id, :userId, :tokenHash, :at, :at, CASE WHEN ${isHalf} THEN :halfExpiresAt ELSE :expiresAt END,
    ${isHalf}, :confirmedAt, :onlyAccount, :issuer, :subject, :userAgent, :address)
  ON CONFLICT DO NOTHING`)
const markSeen = statement(`UPDATE sessions SET last_seen_at = :at WHERE id = :id`)
const end = statement(`
  UPDATE sessions SET ended_at = :at WHERE id = :id AND user_id = :user AND ended_at IS NULL RETURNING id`)
const endOthers = statement(`
  UPDATE sessions SET ended_at = :at WHERE user_id = :user AND id <> :except AND ended_at IS NULL`)

export const sessions = (db: Db) => ({
  /** The live session with this SHA-256, including half sessions, and its user. */
  byToken: async (hash: string, now: number, idleSince: number) => {
    const row = await db.one(byToken, { hash, now, idleSince })
    if (!row) return undefined
    const { id, lastSeenAt, awaitsSecondFactor, confirmedAt, onlyAccount, ssoIssuer, ssoSubject, userId, ...user } = row
    const identity = ssoIssuer === null || ssoSubject === null ? null : { issuer: ssoIssuer, subject: ssoSubject }
    return { id, lastSeenAt, awaitsSecondFactor, confirmedAt, onlyAccount, identity, user: { id: userId, ...user } }
  },
  ofUser: (user: string, now: number, idleSince: number) => db.all(ofUser, { user, now, idleSince }),
  /** Whether the user with this email address has signed in from a client address. Ended sessions count too. */
  beganAt: async (email: string, address: string) => (await db.one(fromAddress, { email, address })) !== undefined,
  add: ({ identity, ...session }: NewSession, at: number): Statement =>
    db.bind(add, { ...session, issuer: identity?.issuer ?? null, subject: identity?.subject ?? null, at }),
  markSeen: (id: string, at: number): Statement => db.bind(markSeen, { id, at }),
  /** Returns no row if the user has no such session, or it has ended. */
  end: (user: string, id: string, at: number): Statement => db.bind(end, { user, id, at }),
  /** Ends every session of a user except one. `''` ends all. */
  endOthers: (user: string, except: string, at: number): Statement => db.bind(endOthers, { user, except, at }),
})
