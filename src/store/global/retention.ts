import { and, eq, gt, isNotNull, lte, notExists, sql } from 'drizzle-orm'
import {
  accounts,
  blockedSends,
  contexts,
  conversationTurns,
  guardrailCounts,
  idempotencyKeys,
  messages,
  snoozes,
  tasks,
  trials,
  usage,
  verdicts,
} from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/**
 * Finds the accounts with something to remove. Only ids leave these queries; removal is per account, except of rows that
 * nothing else depends on.
 */
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

  const onTrial = db.select({ one: sql`1` }).from(trials)
    .where(and(eq(trials.accountId, accounts.id), gt(trials.expiresAt, p('at'))))
  const unclaimed = db.select({ id: accounts.id }).from(accounts)
    // Written out, not bound: only then may the planner use the partial index.
    .where(and(sql`${accounts.state} = 'provisional'`, lte(accounts.createdAt, p('until')), notExists(onTrial)))
    .orderBy(accounts.createdAt).limit(p('limit')).prepare()
  crossAccountQueries.set(unclaimed.getQuery().sql, 'unclaimed accounts')

  const one = { one: sql`1` }
  const old = (table: typeof verdicts | typeof blockedSends) =>
    db.select({ row: sql`rowid` }).from(table).where(lte(table.createdAt, p('until'))).limit(p('limit'))
  const removeVerdicts = db.delete(verdicts).where(sql`rowid IN ${old(verdicts)}`).returning(one).toSQL()
  crossAccountQueries.set(removeVerdicts.sql, 'old verdicts')
  const removeBlockedSends = db.delete(blockedSends).where(sql`rowid IN ${old(blockedSends)}`).returning(one).toSQL()
  crossAccountQueries.set(removeBlockedSends.sql, 'old blocked sends')
  const oldCounts = db.select({ row: sql`rowid` }).from(guardrailCounts).where(lte(guardrailCounts.hour, p('until')))
    .limit(p('limit'))
  const removeCounts = db.delete(guardrailCounts).where(sql`rowid IN ${oldCounts}`).returning(one).toSQL()
  crossAccountQueries.set(removeCounts.sql, 'old counts of guardrails')
  const oldContents = db.select({ row: sql`rowid` }).from(verdicts)
    .where(and(lte(verdicts.createdAt, p('until')), isNotNull(verdicts.content))).limit(p('limit'))
  const removeContents = db.update(verdicts).set({ content: null }).where(sql`rowid IN ${oldContents}`).returning(one)
    .toSQL()
  crossAccountQueries.set(removeContents.sql, 'old texts of verdicts')
  const removeSnoozes = db.delete(snoozes).where(
    sql`(account_id, user_id, kind, subject) IN (SELECT account_id, user_id, kind, subject FROM ${snoozes}
      WHERE ${lte(snoozes.until, p('until'))} LIMIT ${p('limit')})`,
  ).returning(one).toSQL()
  crossAccountQueries.set(removeSnoozes.sql, 'ended snoozes')
  const removeUsage = db.delete(usage).where(
    sql`(account_id, day, subject) IN (SELECT account_id, day, subject FROM ${usage}
      WHERE ${lte(usage.day, p('until'))} LIMIT ${p('limit')})`,
  ).returning(one).toSQL()
  crossAccountQueries.set(removeUsage.sql, 'old usage')
  const removeTurns = db.delete(conversationTurns).where(
    sql`(account_id, key) IN (SELECT account_id, key FROM ${conversationTurns}
      WHERE ${lte(conversationTurns.since, p('until'))} AND paused_at IS NULL LIMIT ${p('limit')})`,
  ).returning(one).toSQL()
  crossAccountQueries.set(removeTurns.sql, 'old turns')
  const removal = (query: typeof removeVerdicts) => (until: number, limit: number): Statement => ({
    ...bind(query, { until, limit }),
    rows: limit,
  })

  const ended = db.select({ row: sql`rowid` }).from(tasks)
    .where(and(sql`${tasks.expiresAt} IS NULL`, lte(tasks.statusAt, p('until')))).limit(p('limit'))
  const removeTasks = db.delete(tasks).where(sql`rowid IN ${ended}`).returning(one).toSQL()
  crossAccountQueries.set(removeTasks.sql, 'old tasks')
  const unused = db.select({ row: sql`rowid` }).from(contexts).where(lte(contexts.usedAt, p('until'))).limit(p('limit'))
  const removeNames = db.delete(contexts).where(sql`rowid IN ${unused}`).returning(one).toSQL()
  crossAccountQueries.set(removeNames.sql, 'old contexts')
  const toFail = db.select({ accountId: tasks.accountId, id: tasks.id, expiresAt: sql<number>`${tasks.expiresAt}` })
    .from(tasks).where(and(isNotNull(tasks.expiresAt), lte(tasks.expiresAt, p('until'))))
    .orderBy(tasks.expiresAt).limit(p('limit')).prepare()
  crossAccountQueries.set(toFail.getQuery().sql, 'tasks that nobody answered')

  return {
    /** Tasks without an end whose time is over, or whose recipient was deleted: then `expiresAt` is 0. */
    tasksToFail: (until: number, limit: number) => runQuery(toFail, { until, limit }),
    /** Remove at most `limit` tasks that ended by `until`, with what belongs to them; returns a row for each. */
    removeTasks: (until: number, limit: number): Statement => ({
      ...bind(removeTasks, { until, limit }),
      rows: limit * 10,
    }),
    /** Remove what clients called conversations that they last used by `until`; returns a row for each. */
    removeContexts: (until: number, limit: number): Statement => ({
      ...bind(removeNames, { until, limit }),
      rows: limit,
    }),
    /** Each of these removes at most `limit` rows that were stored by `until`, and returns a row for each. */
    removeVerdicts: removal(removeVerdicts),
    removeBlockedSends: removal(removeBlockedSends),
    removeGuardrailCounts: removal(removeCounts),
    /** Those that ended by `until`. */
    removeSnoozes: removal(removeSnoozes),
    /** Of days that began by `until`. */
    removeUsage: removal(removeUsage),
    /** Those whose last hour began by `until`, unless they are paused. */
    removeTurns: removal(removeTurns),
    /** The texts alone. */
    removeContents: removal(removeContents),
    /** The accounts and messages of idempotency keys stored by `until`, oldest first. */
    keys: (until: number, limit: number) => runQuery(keys, { until, limit }),
    /** Accounts whose oldest message was stored by `until`. */
    accountsWithMessages: (until: number, limit: number) => runQuery(withMessages, { until, limit }),
    /** Provisional accounts opened by `until` whose trials have all ended at `at`, oldest first. */
    unclaimed: (until: number, at: number, limit: number) => runQuery(unclaimed, { until, at, limit }),
  }
}
