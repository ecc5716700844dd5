import { and, eq, exists, gt, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import { links, users } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { ask, bind, demand, p, type Statement } from '../driver/binding.ts'

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
  const requireOpen = demand(db, exists(open))
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
  // `IS` also finds the link that belongs to nobody.
  const endOpen = db.update(links).set({ usedAt: sql`${p('at')}` })
    .where(and(sql`${links.userId} IS ${p('user')}`, eq(links.kind, p('kind')), isNull(links.usedAt))).toSQL()
  // A proof for a claim names no person, because there may be none yet; it lets in the one of its mailbox.
  const address = db.select({ email: users.email }).from(users).where(eq(users.id, p('user')))
  const theirProof = and(isNull(links.userId), eq(links.kind, sql`'claim'`), eq(links.email, address))
  const endAll = db.update(links).set({ usedAt: sql`${p('at')}` })
    .where(and(or(eq(links.userId, p('user')), theirProof), isNull(links.usedAt))).toSQL()
  const expired = db.select({ id: links.id }).from(links).where(lte(links.expiresAt, p('at'))).limit(p('limit'))
  const removeExpired = db.delete(links).where(inArray(links.id, expired)).returning({ id: links.id }).toSQL()

  return {
    /** The link with this SHA-256, if it can still be used. */
    byToken: async (kind: LinkKind, hash: string, now: number) => (await ask(byToken, { kind, hash, now }))[0],
    add: (link: NewLink, at: number): Statement => bind(add, { ...link, at }),
    /** Fails the unit unless the link can still be used when it runs. */
    requireOpen: (kind: LinkKind, hash: string, now: number): Statement => bind(requireOpen, { kind, hash, now }),
    /** Use a link up: two statements, of which the first fails the unit when it cannot be used any more. */
    use: (kind: LinkKind, hash: string, now: number): Statement[] => [
      bind(requireOpen, { kind, hash, now }),
      bind(use, { kind, hash, now }),
    ],
    /** End the open links of one kind of a person; null: those that belong to nobody. */
    endOpen: (user: string | null, kind: LinkKind, at: number): Statement => bind(endOpen, { user, kind, at }),
    /** End every open link of a person, also those that prove the mailbox they have when it runs. */
    endAll: (user: string, at: number): Statement => bind(endAll, { user, at }),
    /** At most `limit` of those that have expired, used or not; a row for each comes back. */
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}
