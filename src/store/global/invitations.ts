import { and, eq, gt, isNull, lte, sql } from 'drizzle-orm'
import { accounts, invitations, users } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, p, type Statement } from '../driver/binding.ts'

/** What the holder of an invitation's link is asked into. */
export type OpenInvitation = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareInvitations>['byToken']>>>

export function prepareInvitations(db: Db, crossings: Crossings) {
  const byToken = db.select({
    id: invitations.id,
    account: { id: accounts.id, name: accounts.name },
    email: invitations.email,
    role: invitations.role,
    invitedBy: sql<string>`coalesce(nullif(${users.name}, ''), ${users.email})`,
    expiresAt: invitations.expiresAt,
  }).from(invitations)
    .innerJoin(accounts, eq(accounts.id, invitations.accountId))
    .innerJoin(users, eq(users.id, invitations.invitedBy))
    .where(and(
      eq(invitations.tokenHash, p('hash')),
      isNull(invitations.acceptedAt),
      isNull(invitations.endedAt),
      gt(invitations.expiresAt, p('now')),
    )).prepare()
  const expired = db.select({ row: sql`rowid` }).from(invitations).where(lte(invitations.expiresAt, p('until')))
    .limit(p('limit'))
  const removeExpired = db.delete(invitations).where(sql`rowid IN ${expired}`).returning({ id: invitations.id }).toSQL()
  crossings.set(byToken.getQuery().sql, 'invitation by token')
  crossings.set(removeExpired.sql, 'expired invitations')

  return {
    /** The invitation with this SHA-256, if it can still be accepted. Its account is not the caller's yet. */
    byToken: async (hash: string, now: number) => (await ask(byToken, { hash, now }))[0],
    /** At most `limit` of those that had expired by then, whatever came of them; a row for each comes back. */
    removeExpired: (until: number, limit: number): Statement => ({
      ...bind(removeExpired, { until, limit }),
      rows: limit,
    }),
  }
}
