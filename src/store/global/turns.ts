/** Which owners are to be told of pauses. See docs/delivery.md, "Conversations that run away". */
import { crossAccountQuery, type Db } from '../sql.ts'

const untold = crossAccountQuery<{ accountId: string }>(
  'accounts with pauses that the owners were not told of',
  `
  SELECT DISTINCT account_id FROM conversation_turns
  WHERE paused_at IS NOT NULL AND told_at IS NULL LIMIT :limit`,
)

export const turns = (db: Db) => ({
  /** The accounts whose owners were not told of a pause. */
  withUntold: async (limit: number) => (await db.all(untold, { limit })).map(({ accountId }) => accountId),
})
