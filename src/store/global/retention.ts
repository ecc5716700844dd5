import { and, eq, gt, lte, notExists, sql } from 'drizzle-orm'
import { accounts, idempotencyKeys, messages, trials } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, p } from '../driver/binding.ts'

/** Where something is past its time: ids and nothing else leaves these look-ups. What is removed is removed per account. */
export function prepareRetention(db: Db, crossings: Crossings) {
  const keys = db.select({ accountId: idempotencyKeys.accountId, messageId: idempotencyKeys.messageId })
    .from(idempotencyKeys).where(lte(idempotencyKeys.createdAt, p('until')))
    .orderBy(idempotencyKeys.createdAt).limit(p('limit')).prepare()
  crossings.set(keys.getQuery().sql, 'old idempotency keys')

  // Ids of messages sort by time, so the first of an account is its oldest.
  const oldest = db.select({ createdAt: messages.createdAt }).from(messages)
    .where(eq(messages.accountId, accounts.id)).orderBy(messages.id).limit(1)
  const withMessages = db.select({ id: accounts.id }).from(accounts)
    .where(sql`(${oldest}) <= ${p('until')}`).limit(p('limit')).prepare()
  crossings.set(withMessages.getQuery().sql, 'accounts with old messages')

  const onTrial = db.select({ one: sql`1` }).from(trials)
    .where(and(eq(trials.accountId, accounts.id), gt(trials.expiresAt, p('at'))))
  const unclaimed = db.select({ id: accounts.id }).from(accounts)
    // Written out, not bound: only then may the planner use the partial index.
    .where(and(sql`${accounts.state} = 'provisional'`, lte(accounts.createdAt, p('until')), notExists(onTrial)))
    .orderBy(accounts.createdAt).limit(p('limit')).prepare()
  crossings.set(unclaimed.getQuery().sql, 'unclaimed accounts')

  return {
    /** Idempotency keys stored until then, the oldest first, by the message of each. */
    keys: (until: number, limit: number) => ask(keys, { until, limit }),
    /** Accounts whose oldest message was stored until then. */
    accountsWithMessages: (until: number, limit: number) => ask(withMessages, { until, limit }),
    /** Provisional accounts opened until then in which no trial lasts any more, the oldest first. */
    unclaimed: (until: number, at: number, limit: number) => ask(unclaimed, { until, at, limit }),
  }
}
