/** How many messages of an agent are unread, as sends, reads and the inbox resource tell. */
import { inboxOf } from './inbox-number.ts'

/**
 * Unread messages are counted up to here: the number stands for itself or more. Every send and read counts, and an
 * inbox may have any number of channel posts. Without a limit, each call would take as long as its inbox is full.
 */
export const maxCountedUnread = 100

/** A query of the number of unread messages of an agent of the account, up to `maxCountedUnread`. `agent` is SQL of its id. */
export function countOfUnread(agent = ':agent'): string {
  // The state is written out, not bound: only then may the planner use the partial index.
  return `SELECT count(*) AS unread FROM (
    SELECT 1 FROM deliveries WHERE deliveries.inbox = ${inboxOf(agent)} AND deliveries.state = 'unread'
    LIMIT ${maxCountedUnread})`
}
