/** How many messages of an agent are unread, as sends, reads and the inbox resource tell. */
import { sql } from 'drizzle-orm'
import { deliveries } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inInbox } from '../in-account-old.ts'

/**
 * Unread messages are counted up to here: the number stands for itself or more. Every send and read counts, and an
 * inbox may have any number of channel posts. Without a limit, each call would take as long as its inbox is full.
 */
export const maxCountedUnread = 100

/** The unread messages of the agent that is bound as `agent`, up to `maxCountedUnread`. Count its rows. */
export function someUnread(db: Db, agent: string) {
  return db.select({ one: sql`1`.as('one') }).from(deliveries)
    // Written out, not bound: only then may the planner use the partial index.
    .where(inInbox(p(agent), sql`${deliveries.state} = 'unread'`))
    .limit(maxCountedUnread).as('counted')
}
