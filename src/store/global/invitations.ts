import { and, eq, gt, isNull, lte, sql } from 'drizzle-orm'
import { accounts, invitations, users } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** An invitation that can be accepted, as shown to the holder of its link. */
export type OpenInvitation = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareInvitations>['byToken']>>>

export function prepareInvitations(db: Db, crossAccountQueries: CrossAccountQueries) {
  const byToken = db.select({
    id: invitations.id,
    account: { id: accounts.id, name: accounts.name },
    email: invitations.email,
    role: invitations.role,
    invitedBy: sql<string>`coalesce(nullif(${users.name}, ''), ${users.email})`,
    expiresAt: invitations.expiresAt,
    isLinkShown: invitations.isLinkShown,
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
  crossAccountQueries.set(byToken.getQuery().sql, 'invitation by token')
  crossAccountQueries.set(removeExpired.sql, 'expired invitations')

  return {
    /** The invitation with this SHA-256, if it can still be accepted. The caller does not belong to its account yet. */
    byToken: async (hash: string, now: number) => (await runQuery(byToken, { hash, now }))[0],
    /**
     * Deletes at most `limit` invitations that expired by `until`, accepted or not. Returns a row for each one deleted.
     */
    removeExpired: (until: number, limit: number): Statement => ({
      ...bind(removeExpired, { until, limit }),
      rows: limit,
    }),
  }
}
