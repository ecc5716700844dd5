import { and, count, eq, gt, sql } from 'drizzle-orm'
import { accounts, signups } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/**
 * One self-registration. `address` is the client address that limits count, `claimTokenHash` the SHA-256 of the claim
 * token.
 */
export interface NewSignup {
  id: string
  /** The provisional account that it opens or joins. */
  home: string
  /** The email address that the account must still be open for; null for an account of its own. */
  joinEmail: string | null
  ownerEmail: string
  address: string
  claimTokenHash: string
  at: number
}

export function prepareSignups(db: Db, crossAccountQueries: CrossAccountQueries) {
  const fromAddress = db.select({ n: count(), oldest: sql<number | null>`min(${signups.createdAt})` }).from(signups)
    .where(and(eq(signups.address, p('address')), gt(signups.createdAt, p('since'))))
  const fromAddressNow = fromAddress.prepare()
  const recent = db.select({ n: count() }).from(signups)
    .where(and(eq(signups.address, p('address')), gt(signups.createdAt, p('since'))))

  const add = db.insert(signups).select(
    db.select({
      accountId: accounts.id,
      id: value('id'),
      ownerEmail: value('ownerEmail'),
      address: value('address'),
      claimTokenHash: value('claimTokenHash'),
      createdAt: value<number>('at'),
    }).from(accounts).where(and(
      eq(accounts.id, p('home')),
      eq(accounts.state, sql`'provisional'`),
      sql`(${p('joinEmail')} IS NULL OR ${accounts.joinEmail} = ${p('joinEmail')})`,
      sql`(${recent}) < ${p('max')}`,
    )),
  ).returning({ id: signups.id }).toSQL()

  crossAccountQueries.set(fromAddressNow.getQuery().sql, 'signups from an address')
  return {
    /** How many signups came from a client address since a time, and when the oldest of them came. */
    fromAddress: async (address: string, since: number) => (await runQuery(fromAddressNow, { address, since }))[0],
    /**
     * Record a signup if its account is still open to it and its client address made fewer than `max` since a time.
     * Otherwise it returns no row, and the foreign key of its agent fails the unit.
     */
    add: (signup: NewSignup, max: number, since: number): Statement => bind(add, { ...signup, max, since }),
  }
}
