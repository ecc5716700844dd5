/** Webhooks of all accounts. */
import { crossAccountQuery, type Db } from '../sql.ts'

/** The condition that a row of `webhooks` is told what needs a person. */
export const hearsConditions =
  `webhooks.paused_at IS NULL AND (instr(webhooks.events, '"attention"') > 0 OR instr(webhooks.events, '"backup"') > 0)`

const withConditions = crossAccountQuery<{ accountId: string }>(
  'accounts whose webhooks are told what needs a person',
  `
  SELECT DISTINCT account_id FROM webhooks
  WHERE account_id > '' AND ${hearsConditions}
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = webhooks.account_id AND accounts.deleted_at IS NOT NULL)`,
)

export const webhooks = (db: Db) => ({
  /** The accounts whose webhooks are told what needs a person. */
  withConditions: async () => (await db.all(withConditions, {})).map(({ accountId }) => accountId),
})
