import { type Placeholder, sql } from 'drizzle-orm'
import { agents, tasks } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'

/**
 * The newest task that an agent, the one of the row, waits for `recipient` with, an agent of the account; null if there is
 * none. It is read with the recipient of a message, so that a send need not look whether it answers a task.
 */
export function openTaskFor(recipient: Placeholder) {
  const newest = sql`(SELECT ${tasks.id} FROM ${tasks}
    WHERE ${tasks.recipientAccountId} = ${p('account')} AND ${tasks.recipientAgentId} = ${recipient}
      AND ${tasks.accountId} = ${agents.accountId} AND ${tasks.clientAgentId} = ${agents.id}
      AND ${tasks.expiresAt} IS NOT NULL
    ORDER BY ${tasks.id} DESC LIMIT 1)`
  return sql<string | null>`${newest}`.as('open_task')
}
