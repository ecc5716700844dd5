import { and, eq, exists, gt, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import { links, users } from '../../../db/schema.ts'
import { bind, p, precondition, runQuery, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

export type LinkKind = typeof links.$inferInsert.kind

/** A one-time link as stored. Times are milliseconds since the epoch. */
export interface NewLink {
  id: string
  kind: LinkKind
  tokenHash: string
  userId: string | null
  email: string | null
  expiresAt: number
}

export function prepareLinks(db: Db) {
  const isOpen = and(
    eq(links.tokenHash, p('hash')),
    eq(links.kind, p('kind')),
    isNull(links.usedAt),
    gt(links.expiresAt, p('now')),
  )
  const open = db.select({ id: links.id, userId: links.userId, email: links.email }).from(links).where(isOpen)
  const byToken = open.prepare()
  const requireOpen = precondition(db, exists(open))
  const add = db.insert(links).values({
    id: p('id'),
    kind: p('kind'),
    tokenHash: p('tokenHash'),
    userId: p('userId'),
    email: p('email'),
    createdAt: p('at'),
    expiresAt: p('expiresAt'),
  }).onConflictDoNothing().toSQL()
  const use = db.update(links).set({ usedAt: sql`${p('now')}` }).where(isOpen).toSQL()
  // `IS` also matches links without a user.
  const endOpen = db.update(links).set({ usedAt: sql`${p('at')}` })
    .where(and(sql`${links.userId} IS ${p('user')}`, eq(links.kind, p('kind')), isNull(links.usedAt))).toSQL()
  // The link for a claim has no user, because there may be none yet; it signs in the user with its email address.
  const address = db.select({ email: users.email }).from(users).where(eq(users.id, p('user')))
  const claimLinkOfEmail = and(isNull(links.userId), eq(links.kind, sql`'claim'`), eq(links.email, address))
  const endAll = db.update(links).set({ usedAt: sql`${p('at')}` })
    .where(and(or(eq(links.userId, p('user')), claimLinkOfEmail), isNull(links.usedAt))).toSQL()
  const expired = db.select({ id: links.id }).from(links).where(lte(links.expiresAt, p('at'))).limit(p('limit'))
  const removeExpired = db.delete(links).where(inArray(links.id, expired)).returning({ id: links.id }).toSQL()

  return {
    /** The link with this SHA-256, if it can still be used. */
    byToken: async (kind: LinkKind, hash: string, now: number) => (await runQuery(byToken, { kind, hash, now }))[0],
    add: (link: NewLink, at: number): Statement => bind(add, { ...link, at }),
    /** Fails the unit unless the link can still be used when it runs. */
    requireOpen: (kind: LinkKind, hash: string, now: number): Statement => bind(requireOpen, { kind, hash, now }),
    /** Use a link: two statements, of which the first fails the unit if it can no longer be used. */
    use: (kind: LinkKind, hash: string, now: number): Statement[] => [
      bind(requireOpen, { kind, hash, now }),
      bind(use, { kind, hash, now }),
    ],
    /** End the open links of one kind of a user; null for links without a user. */
    endOpen: (user: string | null, kind: LinkKind, at: number): Statement => bind(endOpen, { user, kind, at }),
    /** End every open link of a user, and the claim links that verify the user's current email address. */
    endAll: (user: string, at: number): Statement => bind(endAll, { user, at }),
    /** Deletes at most `limit` expired links, used or not. Returns a row for each one deleted. */
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}
