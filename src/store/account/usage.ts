/** How much the account's agents send per day, and how full inboxes are. */
import { ownLimit } from './limits.ts'
import { unreadOf } from './inbox-message.ts'
import { type AccountDb, crossAccountQuery, query, type Statement, traffic } from '../sql.ts'
import type { InboxAddress } from './new-message.ts'

export interface Used {
  messages: number
  bytes: number
}

/** A send's limits, as parameters of its conditions. 0 means no limit. */
export interface Quotas {
  day: number
  receiver: string | null
  messagesPerDay: number
  bytesPerDay: number
  externalMessagesPerDay: number
  /** The limit of the recipient's inbox; 0 for a channel. */
  maxUnread: number
  /** From this number of unread messages, receipts within the account report how full the inbox is. */
  nearlyFull: number
}

/** An inbox that is nearly full. */
export interface FullInbox {
  unread: number
  max: number
  /** How many messages the inbox refused today because it was full. */
  refused: number
}

/** The daily counters that a message increments: the account's, and that of a recipient in another account. */
const ofDay = `usage.account_id = :account AND usage.day = :day AND usage.subject IN ('', :receiver)`

export const isWithinDay = `NOT EXISTS (
  SELECT 1 FROM usage WHERE ${ofDay} AND iif(usage.subject = '',
    ${ownLimit('messagesPerDay', ':messagesPerDay')} BETWEEN 1 AND usage.messages
      OR ${ownLimit('megabytesPerDay', ':bytesPerDay')} BETWEEN 1 AND usage.bytes,
    :externalMessagesPerDay BETWEEN 1 AND usage.messages))`

export const hasRoom = `NOT :maxUnread BETWEEN 1 AND ${unreadOf(':to', ':toAccount')}`

const used = query<Used & { subject: string }>(`SELECT subject, messages, bytes FROM usage WHERE ${ofDay}`)
const ofDays = query<Used & { day: number }>(`
  SELECT day, messages, bytes FROM usage WHERE account_id = :account AND day >= :since AND subject = '' ORDER BY day DESC`)
const unread = crossAccountQuery<{ unread: number }>(
  'unread messages of a recipient',
  `SELECT ${unreadOf(':to', ':toAccount')} AS unread`,
)
/** How many messages an inbox has refused today. */
export const refusedToday = 'iif(agent_numbers.refused_on = :day, agent_numbers.refused, 0)'

const isNearlyFull = `agent_numbers.account_id = :account AND agent_numbers.agent_id = :to
  AND :maxUnread > 0 AND agent_numbers.unread >= :nearlyFull`
/** JSON of the recipient's `FullInbox`; null unless it is nearly full. */
export const fullInboxAsJson = `(
  SELECT json_object('unread', agent_numbers.unread, 'max', :maxUnread, 'refused', ${refusedToday})
  FROM agent_numbers WHERE ${isNearlyFull})`
const full = query<FullInbox>(`
  SELECT agent_numbers.unread, :maxUnread AS max, ${refusedToday} AS refused FROM agent_numbers WHERE ${isNearlyFull}`)
const countRefused = traffic(`
  UPDATE agent_numbers SET refused = ${refusedToday} + 1, refused_on = :day
  WHERE agent_numbers.account_id = :toAccount AND agent_numbers.agent_id = :to`)
const count = traffic(`
  INSERT INTO usage (account_id, day, subject, messages, bytes)
  SELECT :account, :day, :subject, :messages, :bytes WHERE changes() > 0
  ON CONFLICT (account_id, day, subject) DO UPDATE
    SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes`)

export const usage = {
  reads: (account: AccountDb) => {
    const of = async (day: number, receiver: string | null) => {
      const rows = await account.all(used, { day, receiver })
      const ofSubject = (subject: string | null): Used =>
        rows.find((row) => row.subject === subject) ?? { messages: 0, bytes: 0 }
      return { account: ofSubject(''), toExternal: ofSubject(receiver).messages }
    }
    return {
      of,
      /** The account's daily usage from `since` on, newest first. */
      days: (since: number) => account.all(ofDays, { since }),
      unread: async ({ agentId, home }: InboxAddress): Promise<number> => {
        const toAccount = home ?? account.accountId
        return (await account.one(unread, { toAccount, to: agentId }))!.unread
      },
      /** The inbox of an agent of the account; undefined unless it is nearly full. */
      full: (agent: string, { day, maxUnread, nearlyFull }: Quotas): Promise<FullInbox | undefined> =>
        account.one(full, { to: agent, day, maxUnread, nearlyFull }),
    }
  },
  changes: (account: AccountDb) => ({
    /** Counts a message if the previous statement in its unit changed a row, so a retried unit counts once. */
    count: ({ day, receiver }: Pick<Quotas, 'day' | 'receiver'>, bytes: number): Statement[] =>
      (receiver === null ? [''] : ['', receiver]).map((subject) =>
        account.bind(count, { day, subject, messages: 1, bytes })
      ),
    /** Counts a message that an inbox refused because it was full. */
    countRefused: ({ agentId, home }: InboxAddress, day: number): Statement =>
      account.bind(countRefused, { toAccount: home ?? account.accountId, to: agentId, day }),
    /** Counts bytes that are not part of a message, in the same way as `count`. */
    countBytes: (day: number, bytes: number): Statement =>
      account.bind(count, { day, subject: '', messages: 0, bytes }),
  }),
}
