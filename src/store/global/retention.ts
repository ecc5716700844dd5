import { and, eq, gt, lte, notExists, sql } from 'drizzle-orm'
import { accounts, idempotencyKeys, messages, trials, usage } from '../../../db/schema.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** Finds the accounts with something to remove. Only ids leave these queries; removal is per account. */
export function prepareRetention(db: Db, crossAccountQueries: CrossAccountQueries) {
  const keys = db.select({ accountId: idempotencyKeys.accountId, messageId: idempotencyKeys.messageId })
    .from(idempotencyKeys).where(lte(idempotencyKeys.createdAt, p('until')))
    .orderBy(idempotencyKeys.createdAt).limit(p('limit')).prepare()
  crossAccountQueries.set(keys.getQuery().sql, 'old idempotency keys')

  // Ids of messages sort by time, so the first of an account is its oldest.
  const oldest = db.select({ createdAt: messages.createdAt }).from(messages)
    .where(eq(messages.accountId, accounts.id)).orderBy(messages.id).limit(1)
  const withMessages = db.select({ id: accounts.id }).from(accounts)
    .where(sql`(${oldest}) <= ${p('until')}`).limit(p('limit')).prepare()
  crossAccountQueries.set(withMessages.getQuery().sql, 'accounts with old messages')

  const withUsage = db.select({ id: usage.accountId }).from(usage).where(lte(usage.day, p('until')))
    .orderBy(usage.day).limit(p('limit')).prepare()
  crossAccountQueries.set(withUsage.getQuery().sql, 'accounts with old usage')

  const onTrial = db.select({ one: sql`1` }).from(trials)
    .where(and(eq(trials.accountId, accounts.id), gt(trials.expiresAt, p('at'))))
  const unclaimed = db.select({ id: accounts.id }).from(accounts)
    // Written out, not bound: only then may the planner use the partial index.
    .where(and(sql`${accounts.state} = 'provisional'`, lte(accounts.createdAt, p('until')), notExists(onTrial)))
    .orderBy(accounts.createdAt).limit(p('limit')).prepare()
  crossAccountQueries.set(unclaimed.getQuery().sql, 'unclaimed accounts')

  return {
    /** The accounts and messages of idempotency keys stored by `until`, oldest first. */
    keys: (until: number, limit: number) => runQuery(keys, { until, limit }),
    /** Accounts whose oldest message was stored by `until`. */
    accountsWithMessages: (until: number, limit: number) => runQuery(withMessages, { until, limit }),
    /** The accounts of the `limit` oldest counts of days that began by `until`. */
    async accountsWithUsage(until: number, limit: number) {
      return new Set((await runQuery(withUsage, { until, limit })).map(({ id }) => id))
    },
    /** Provisional accounts opened by `until` whose trials have all ended at `at`, oldest first. */
    unclaimed: (until: number, at: number, limit: number) => runQuery(unclaimed, { until, at, limit }),
  }
}
