/** What the agents of the account have sent on a day, as the quotas count it. See docs/operations.md, "Quotas". */
import { eq, type SQL, sql } from 'drizzle-orm'
import { deliveries, usage } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inInbox } from '../in-account-old.ts'

/** The newest count of one counter. `day` is its first millisecond. */
export interface StoredCount {
  subject: string
  counterId: string
  messages: number
  bytes: number
}

export function prepareUsage(db: Db) {
  const listed = (column: unknown, name: string): SQL => sql`${column} IN (SELECT value FROM json_each(${p(name)}))`

  const counted = db.select({
    subject: usage.subject,
    messages: sql<number>`sum(${usage.messages})`,
    bytes: sql<number>`sum(${usage.bytes})`,
  }).from(usage).where(inAccount(
    usage,
    eq(usage.day, p('day')),
    listed(usage.subject, 'subjects'),
    sql`NOT ${listed(usage.counterId, 'except')}`,
  )).groupBy(usage.subject).prepare()

  const unreadRows = db.select({ one: sql`1`.as('one') }).from(deliveries)
    .where(inInbox(sql`entry.value`, sql`${deliveries.state} = 'unread'`))
    .limit(p('limit')).as('counted')
  const unread = db.select({
    agentId: sql<string>`entry.value`,
    unread: sql<number>`(SELECT count(*) FROM ${unreadRows})`,
  }).from(sql`json_each(${p('inboxes')}) AS entry`).prepare()

  // The newest count replaces the older one, so that a repeated unit counts nothing twice.
  const store = db.insert(usage).select(
    db.select({
      accountId: value('account'),
      day: value<number>('day'),
      subject: sql<string>`value ->> 0`.as('subject'),
      counterId: sql<string>`value ->> 1`.as('counter_id'),
      messages: sql<number>`value ->> 2`.as('messages'),
      bytes: sql<number>`value ->> 3`.as('bytes'),
    }).from(sql`json_each(${p('counts')})`).where(sql`true`),
  ).onConflictDoUpdate({
    target: [usage.accountId, usage.day, usage.subject, usage.counterId],
    set: { messages: sql`excluded.messages`, bytes: sql`excluded.bytes` },
  }).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** The sums of these subjects on a day, without the counters `except`. None for a subject without counts. */
      counted: (day: number, subjects: string[], except: string[]) =>
        account.all(counted, { day, subjects: JSON.stringify(subjects), except: JSON.stringify(except) }),
      /** The unread messages of each of these agents, counted up to `limit`. */
      unread: (inboxes: string[], limit: number): Promise<{ agentId: string; unread: number }[]> =>
        account.all(unread, { inboxes: JSON.stringify(inboxes), limit }),
    }),
    changes: (account: AccountBinding) => ({
      /** Store the newest count of each counter. */
      store: (day: number, counts: StoredCount[]): Statement => ({
        ...account.bind(store, {
          day,
          counts: JSON.stringify(counts.map((c) => [c.subject, c.counterId, c.messages, c.bytes])),
        }),
        rows: counts.length,
      }),
    }),
  }
}
