/** Which owners are to be told of pauses. See docs/delivery.md, "Conversations that run away". */
import { and, isNotNull, isNull } from 'drizzle-orm'
import { conversationTurns as turns } from '../../../db/schema.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

export function prepareTurns(db: Db, crossAccountQueries: CrossAccountQueries) {
  const untold = db.selectDistinct({ accountId: turns.accountId }).from(turns)
    .where(and(isNotNull(turns.pausedAt), isNull(turns.toldAt))).limit(p('limit')).prepare()
  crossAccountQueries.set(untold.getQuery().sql, 'accounts with pauses that the owners were not told of')

  return {
    /** The accounts whose owners were not told of a pause. */
    withUntold: async (limit: number) => (await runQuery(untold, { limit })).map(({ accountId }) => accountId),
  }
}
