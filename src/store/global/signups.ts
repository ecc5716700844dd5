import { and, count, eq, gt, sql } from 'drizzle-orm'
import { accounts, signups } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, p, type Statement, value } from '../driver/binding.ts'

/** One self-registration. `address` is the unit of the limits, `claimTokenHash` the SHA-256 of the claim link's token. */
export interface NewSignup {
  id: string
  /** The provisional account it opens or joins. */
  home: string
  /** The address the account must still be open for; null for an account of its own. */
  joinEmail: string | null
  ownerEmail: string
  address: string
  claimTokenHash: string
  at: number
}

export function prepareSignups(db: Db, crossings: Crossings) {
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

  crossings.set(fromAddressNow.getQuery().sql, 'signups from an address')
  return {
    /** How many signups came from an address since a time, and when the oldest of them was. */
    fromAddress: async (address: string, since: number) => (await ask(fromAddressNow, { address, since }))[0],
    /**
     * Record a signup if its account still takes it and its address made fewer than `max` since a time.
     * Otherwise no row, and the agent that points to it fails the unit.
     */
    add: (signup: NewSignup, max: number, since: number): Statement => bind(add, { ...signup, max, since }),
  }
}
