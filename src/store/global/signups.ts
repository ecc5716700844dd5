import { and, between, count, eq, gt, sql } from 'drizzle-orm'
import { accounts, signups } from '../../../db/schema.ts'
import type { AddressRange } from '../../lib/http/client-address.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { type AttemptLimit, reachedLimit } from './attempts.ts'

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

/** How many signups a range of client addresses may make since a time. */
export interface SignupLimit extends AddressRange {
  max: number
  since: number
}

export function prepareSignups(db: Db, crossAccountQueries: CrossAccountQueries) {
  const fromAddress = db.select({ n: count(), oldest: sql<number | null>`min(${signups.createdAt})` }).from(signups)
    .where(and(between(signups.address, p('from'), p('to')), gt(signups.createdAt, p('since'))))
  const fromAddressNow = fromAddress.prepare()
  const reachedByAddress = sql`SELECT 1 FROM json_each(${p('addressLimits')}) AS allowed WHERE (
    SELECT count(*) FROM signups AS seen WHERE seen.address BETWEEN allowed.value ->> 'from' AND allowed.value ->> 'to'
      AND seen.created_at > allowed.value ->> 'since'
  ) >= allowed.value ->> 'max'`

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
      sql`NOT EXISTS (${reachedByAddress})`,
      sql`NOT EXISTS (${reachedLimit})`,
    )),
  ).returning({ id: signups.id }).toSQL()

  crossAccountQueries.set(fromAddressNow.getQuery().sql, 'signups from an address')
  return {
    /** How many signups came from client addresses since a time, and when the oldest of them came. */
    fromAddress: async ({ from, to }: AddressRange, since: number) =>
      (await runQuery(fromAddressNow, { from, to, since }))[0],
    /**
     * Record a signup if its account is still open to it and none of the limits is reached. Otherwise it returns no
     * row, and the foreign key of its agent fails the unit.
     */
    add: (signup: NewSignup, addressLimits: SignupLimit[], limits: AttemptLimit[]): Statement =>
      bind(add, { ...signup, addressLimits: JSON.stringify(addressLimits), limits: JSON.stringify(limits) }),
  }
}
