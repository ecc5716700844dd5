/** Pauses of conversations, across all accounts. */
import { crossAccountQuery, type Db } from '../sql.ts'

const unnotified = crossAccountQuery<{ accountId: string }>(
  'accounts with pauses without a notification',
  `
  SELECT DISTINCT account_id FROM conversation_turns
  WHERE paused_at IS NOT NULL AND notified_at IS NULL LIMIT :limit`,
)

export const turns = (db: Db) => ({
  /** The accounts whose owners were not yet notified of a pause. */
  withUnnotified: async (limit: number) => (await db.all(unnotified, { limit })).map(({ accountId }) => accountId),
})
