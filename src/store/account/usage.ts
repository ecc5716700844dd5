/** What the agents of the account have sent on a day, and how full inboxes are. See docs/operations.md, "Quotas". */
import { eq, not, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { deliveries, usage } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account.ts'
import type { InboxAddress } from './new-message.ts'

/** Messages that were sent, and about how many bytes they added to the database. */
export interface Used {
  messages: number
  bytes: number
}

/** What a send may use up, as its conditions are bound. 0: no limit. */
export interface Quotas {
  /** The first millisecond of the day. */
  day: number
  /** The agent of another account that it goes to, or null. */
  receiver: string | null
  messagesPerDay: number
  bytesPerDay: number
  strangerMessagesPerDay: number
  /** Of the inbox that it goes to; 0 for a channel. */
  maxUnread: number
}

const isReached = (quota: string, used: unknown) => sql`${p(quota)} BETWEEN 1 AND ${used}`

/** The counts of the day that a message adds to: of the account, and of what it sent to a stranger. */
const ofDay = (...conditions: SQL[]) =>
  inAccount(usage, eq(usage.day, p('day')), sql`${usage.subject} IN ('', ${p('receiver')})`, ...conditions)

/** The unread messages of the inbox of a direct message, counted up to its limit. */
function unreadOf(db: Db): SQL {
  const counted = db.select({ one: sql`1`.as('one') }).from(deliveries)
    // Written out, not bound: only then may the planner use the partial index.
    .where(sql`${deliveries.inbox} = (${inboxOf(p('toAccount'), p('to'))}) AND ${deliveries.state} = 'unread'`)
    .limit(p('maxUnread') as Placeholder).as('counted')
  return sql`(SELECT count(*) FROM ${counted})`
}

/** Whether the quotas of a day allow one more message. */
export function isWithinDay(db: Db): SQL {
  const used = sql`(${usage.subject} = '' AND (${isReached('messagesPerDay', usage.messages)} OR ${
    isReached('bytesPerDay', usage.bytes)
  })) OR (${usage.subject} <> '' AND ${isReached('strangerMessagesPerDay', usage.messages)})`
  return not(sql`EXISTS ${db.select({ one: sql`1` }).from(usage).where(ofDay(used))}`)
}

/** Whether the inbox of a direct message takes one more. */
export function hasRoom(db: Db): SQL {
  return not(isReached('maxUnread', unreadOf(db)))
}

export function prepareUsage(db: Db, crossAccountQueries: CrossAccountQueries) {
  const used = db.select({ subject: usage.subject, messages: usage.messages, bytes: usage.bytes }).from(usage)
    .where(ofDay()).prepare()
  const unread = db.select({ unread: sql<number>`${unreadOf(db)}` }).from(sql`(SELECT 1)`).prepare()
  crossAccountQueries.set(unread.getQuery().sql, 'unread messages of a recipient')

  const count = db.insert(usage).select(
    db.select({
      accountId: value('account'),
      day: value<number>('day'),
      subject: sql<string>`counted.subject`.as('subject'),
      messages: sql<number>`1`.as('messages'),
      bytes: value<number>('bytes'),
    }).from(sql`(SELECT '' AS subject UNION ALL SELECT ${p('receiver')}) AS counted`)
      .where(sql`counted.subject IS NOT NULL AND changes() > 0`),
  ).onConflictDoUpdate({
    target: [usage.accountId, usage.day, usage.subject],
    set: { messages: sql`${usage.messages} + 1`, bytes: sql`${usage.bytes} + excluded.bytes` },
  }).toSQL()

  return {
    reads: (account: AccountBinding) => {
      const of = async (day: number, receiver: string | null) => {
        const rows = await account.all(used, { day, receiver })
        const ofSubject = (subject: string | null): Used =>
          rows.find((row) => row.subject === subject) ?? { messages: 0, bytes: 0 }
        return { account: ofSubject(''), toStranger: ofSubject(receiver).messages }
      }
      return {
        /** What the account has sent on the day that begins then, and of that to a stranger. */
        of,
        /** The unread messages of the inbox of any account, counted up to `limit`. */
        unread: async ({ agentId, home }: InboxAddress, limit: number): Promise<number> => {
          const toAccount = home ?? account.accountId
          return (await account.one(unread, { toAccount, to: agentId, maxUnread: limit }))!.unread
        },
      }
    },
    changes: (account: AccountBinding) => ({
      /** Count a message if the statement before this one in its unit changed a row: so a repeated unit counts once. */
      count: ({ day, receiver }: Pick<Quotas, 'day' | 'receiver'>, bytes: number): Statement =>
        account.bind(count, { day, receiver, bytes }),
    }),
  }
}
