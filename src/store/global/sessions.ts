import { and, desc, eq, gt, inArray, isNotNull, isNull, lte, ne, or, sql } from 'drizzle-orm'
import { sessions, users } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { hasSecondFactor } from './second-factors.ts'

/** A new browser session. Times are milliseconds since the epoch. */
export interface NewSession {
  id: string
  userId: string
  tokenHash: string
  /** The absolute expiry. */
  expiresAt: number
  /** The expiry of a half session. */
  halfExpiresAt: number
  /** Whether the second factor was given. Otherwise the session of a user who has one is a half session. */
  hasSecondFactor: boolean
  /** When the user proved who they are; null if that is unknown. */
  confirmedAt: number | null
  userAgent: string
  address: string
}

export function prepareSessions(db: Db) {
  // The absolute expiry is stored; the idle expiry follows from the last use.
  const isLive = and(
    isNull(sessions.endedAt),
    gt(sessions.expiresAt, p('now')),
    gt(sessions.lastSeenAt, p('idleSince')),
  )
  const isWhole = eq(sessions.awaitsSecondFactor, sql`0`)
  const byToken = db.select({
    id: sessions.id,
    lastSeenAt: sessions.lastSeenAt,
    awaitsSecondFactor: sessions.awaitsSecondFactor,
    confirmedAt: sessions.confirmedAt,
    user: {
      id: users.id,
      email: users.email,
      name: users.name,
      emailVerifiedAt: users.emailVerifiedAt,
      shortcuts: users.shortcuts,
      hasSecondFactor: sql<boolean>`${hasSecondFactor(db, users.id)}`.mapWith(Boolean),
    },
  }).from(sessions).innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.tokenHash, p('hash')), isLive)).prepare()
  const ofUser = db.select({
    id: sessions.id,
    createdAt: sessions.createdAt,
    lastSeenAt: sessions.lastSeenAt,
    expiresAt: sessions.expiresAt,
    userAgent: sessions.userAgent,
    address: sessions.address,
  }).from(sessions).where(and(eq(sessions.userId, p('user')), isLive, isWhole)).orderBy(desc(sessions.lastSeenAt))
    .prepare()

  const fromAddress = db.select({ id: sessions.id }).from(sessions).innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(users.email, p('email')), eq(sessions.address, p('address')), isWhole)).limit(1).prepare()

  // Decided by the statement itself, so that a factor that is added at the same time counts.
  const isHalf = sql`(${p('hasFactor')} = 0 AND (${hasSecondFactor(db, sql`${p('userId')}`)}))`
  const add = db.insert(sessions).values({
    id: p('id'),
    userId: p('userId'),
    tokenHash: p('tokenHash'),
    createdAt: p('at'),
    lastSeenAt: p('at'),
    expiresAt: sql`CASE WHEN ${isHalf} THEN ${p('halfExpiresAt')} ELSE ${p('expiresAt')} END`,
    awaitsSecondFactor: isHalf,
    confirmedAt: p('confirmedAt'),
    userAgent: p('userAgent'),
    address: p('address'),
  }).onConflictDoNothing().toSQL()
  const markSeen = db.update(sessions).set({ lastSeenAt: sql`${p('at')}` }).where(eq(sessions.id, p('id'))).toSQL()
  const end = db.update(sessions).set({ endedAt: sql`${p('at')}` })
    .where(and(eq(sessions.id, p('id')), eq(sessions.userId, p('user')), isNull(sessions.endedAt)))
    .returning({ id: sessions.id }).toSQL()
  const endOthers = db.update(sessions).set({ endedAt: sql`${p('at')}` })
    .where(and(eq(sessions.userId, p('user')), ne(sessions.id, p('except')), isNull(sessions.endedAt))).toSQL()
  const ended = db.select({ id: sessions.id }).from(sessions)
    .where(or(lte(sessions.expiresAt, p('at')), and(isNotNull(sessions.endedAt), lte(sessions.endedAt, p('at')))))
    .limit(p('limit'))
  const removeEnded = db.delete(sessions).where(inArray(sessions.id, ended)).returning({ id: sessions.id }).toSQL()

  return {
    /** The live session with this SHA-256, also a half one, and its user. */
    byToken: async (hash: string, now: number, idleSince: number) =>
      (await runQuery(byToken, { hash, now, idleSince }))[0],
    /** Live sessions of a user, last used first. */
    ofUser: (user: string, now: number, idleSince: number) => runQuery(ofUser, { user, now, idleSince }),
    /** Whether the user of an email address has signed in, wholly, from a client address. Ended sessions count too. */
    beganAt: async (email: string, address: string) => (await runQuery(fromAddress, { email, address })).length > 0,
    add: ({ hasSecondFactor, ...session }: NewSession, at: number): Statement =>
      bind(add, { ...session, hasFactor: Number(hasSecondFactor), at }),
    markSeen: (id: string, at: number): Statement => bind(markSeen, { id, at }),
    /** No row if the user has no such session, or it has ended. */
    end: (user: string, id: string, at: number): Statement => bind(end, { user, id, at }),
    /** End every session of a user except one; `''` for all. */
    endOthers: (user: string, except: string, at: number): Statement => bind(endOthers, { user, except, at }),
    /** Deletes at most `limit` sessions that expired or were ended. Returns a row for each one deleted. */
    removeEnded: (at: number, limit: number): Statement => ({ ...bind(removeEnded, { at, limit }), rows: limit }),
  }
}
