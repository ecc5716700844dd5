import { eq, lte, sql } from 'drizzle-orm'
import { accounts, idempotencyKeys, messages } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, p } from '../bound.ts'

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

  return {
    /** Idempotency keys stored until then, the oldest first, by the message of each. */
    keys: (until: number, limit: number) => ask(keys, { until, limit }),
    /** Accounts whose oldest message was stored until then. */
    accountsWithMessages: (until: number, limit: number) => ask(withMessages, { until, limit }),
  }
}
