/** What every process must know of conversations: the cross-account queries of `turns.ts` and of its notices. */
import { gt, isNull, lte, sql } from 'drizzle-orm'
import { accounts, agents, conversationPauses, conversationTurns, recentReads } from '../../../db/schema.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** How many rows of each table one poll returns. */
export const maxPolled = 5_000

export type GlobalConversations = ReturnType<typeof prepareConversations>

export function prepareConversations(db: Db, crossAccountQueries: CrossAccountQueries) {
  const turns = db.select().from(conversationTurns)
    .where(gt(conversationTurns.changedAt, p('after'))).orderBy(conversationTurns.changedAt).limit(maxPolled).prepare()
  const reads = db.select().from(recentReads)
    .where(gt(recentReads.changedAt, p('after'))).orderBy(recentReads.changedAt).limit(maxPolled).prepare()
  const pauses = db.select().from(conversationPauses)
    .where(gt(conversationPauses.changedAt, p('after'))).orderBy(conversationPauses.changedAt).limit(maxPolled)
    .prepare()
  const untold = db.select({ accountId: conversationPauses.accountId, id: conversationPauses.id })
    .from(conversationPauses).where(isNull(conversationPauses.toldAt)).orderBy(conversationPauses.pausedAt).limit(100)
    .prepare()
  // Written out, not bound: only then may the planner use the partial indexes.
  const automated = db.select({ alias: agents.alias }).from(agents).where(sql`${agents.automated} = 1`).prepare()
  const limits = db.select({ accountId: accounts.id, limits: accounts.turnLimits }).from(accounts)
    .where(sql`${accounts.turnLimits} IS NOT NULL`).prepare()
  const oldTurns = db.select({ id: conversationTurns.accountId }).from(conversationTurns)
    .where(lte(conversationTurns.turnedAt, p('until'))).orderBy(conversationTurns.turnedAt).limit(p('limit')).prepare()
  const oldReads = db.select({ id: recentReads.accountId }).from(recentReads)
    .where(lte(recentReads.readAt, p('until'))).orderBy(recentReads.readAt).limit(p('limit')).prepare()
  const oldPauses = db.select({ id: conversationPauses.accountId }).from(conversationPauses)
    .where(lte(conversationPauses.resumedAt, p('until'))).orderBy(conversationPauses.resumedAt).limit(p('limit'))
    .prepare()

  crossAccountQueries.set(turns.getQuery().sql, 'changed turns of conversations')
  crossAccountQueries.set(reads.getQuery().sql, 'changed reads')
  crossAccountQueries.set(pauses.getQuery().sql, 'changed pauses of conversations')
  crossAccountQueries.set(untold.getQuery().sql, 'pauses that the owners were not told of')
  crossAccountQueries.set(automated.getQuery().sql, 'automated agents')
  crossAccountQueries.set(oldTurns.getQuery().sql, 'accounts with old turns')
  crossAccountQueries.set(oldReads.getQuery().sql, 'accounts with old reads')
  crossAccountQueries.set(oldPauses.getQuery().sql, 'accounts with old pauses')

  return {
    /** What was stored after a time of the database, the oldest first. */
    turnsAfter: (after: number) => runQuery(turns, { after }),
    readsAfter: (after: number) => runQuery(reads, { after }),
    pausesAfter: (after: number) => runQuery(pauses, { after }),
    /** Pauses that the owners were not told of. */
    untold: () => runQuery(untold),
    /** The aliases of the agents that are marked as automated. */
    automated: async () => (await runQuery(automated)).map(({ alias }) => alias),
    /** The accounts that changed their limits. */
    limits: () => runQuery(limits),
    /** The accounts of the `limit` oldest rows of each table that are to be removed. */
    async withOld(turnedUntil: number, readUntil: number, resumedUntil: number, limit: number): Promise<Set<string>> {
      const found = await Promise.all([
        runQuery(oldTurns, { until: turnedUntil, limit }),
        runQuery(oldReads, { until: readUntil, limit }),
        runQuery(oldPauses, { until: resumedUntil, limit }),
      ])
      return new Set(found.flat().map(({ id }) => id))
    },
  }
}
