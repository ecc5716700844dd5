/** Leases: messages that a reader has, until they are acked or released. See docs/delivery.md, "Leases". */
import type { Row } from '@libsql/client'
import { and, count, desc, eq, exists, gt, isNotNull, isNull, lt, lte, notExists, or, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { agents, deliveries, leaseReleases, leases, messages } from '../../../db/schema.ts'
import { hour } from '../../lib/time.ts'
import { type AccountBinding, p, type PlaceholderValues, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inInbox } from '../in-account.ts'
import { type InboxMessage, inboxMessageReader, selectInboxMessages } from './inbox-message.ts'
import { longTurns } from './turns.ts'
import { someUnread } from './unread.ts'

/** A lease about to be made. */
export interface NewLease {
  id: string
  agent: string
  /** The id of the process that sends the messages to the reader; of a lease that expires, that of the credential. */
  holder: string
  at: number
  /** When the lease expires. Null: it ends only with its holder. */
  expiresAt: number | null
}

/** How much one lease may hold. */
export interface LeaseSize {
  /** Messages. */
  limit: number
  /** UTF-16 units of all messages together. A first message that is longer is leased alone. */
  maxChars: number
  /** About how many messages there are to lease, for the write queue. */
  expected: number
}

/** Which unread messages a lease takes; without it, the oldest. */
export type LeaseSelection = { messages: readonly string[] } | { conversation: string }

/** The parts of leasing messages. `lease` and `messages` depend on the rows that `claim` has changed. */
export interface LeaseParts {
  claim: Statement
  lease: Statement
  /** Returns the leased messages as raw rows, which `read.leases.messages` decodes. */
  messages: Statement
}

/** At every fifth return a message is parked, if it returns from a lease that expires. See docs/delivery.md, "Parked messages". */
export const parkedAtReturns = 5
/** How many releases of one delivery its timeline keeps. */
const maxReleases = 20
/** How many messages one wake-up marks as woken: the newest. */
const maxWoken = 50

const isOneOf = (column: SQLiteColumn, list: string) => sql`${column} IN (SELECT value FROM json_each(${p(list)}))`

export function prepareLeases(db: Db) {
  const ofAgent = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const ofLease = and(eq(deliveries.leaseId, p('lease')), isNotNull(deliveries.leaseId))!

  const lease = db.select({ one: sql`1` }).from(leases).where(inAccount(leases, eq(leases.id, p('lease'))))

  /** Claims the oldest messages that fit, of these unread ones. */
  const claiming = (where: SQL) => {
    const oldest = db.select({ seq: deliveries.seq, chars: deliveries.chars }).from(deliveries)
      .where(where).orderBy(deliveries.seq).limit(p('limit')).as('oldest')
    const summed = db.select({
      seq: oldest.seq,
      chars: oldest.chars,
      total: sql<number>`sum(${oldest.chars}) OVER (ORDER BY ${oldest.seq} ROWS UNBOUNDED PRECEDING)`.as('total'),
    }).from(oldest).as('summed')
    // The total of the first message is its own length.
    const fitting = db.select({ seq: summed.seq }).from(summed)
      .where(or(lte(summed.total, p('maxChars')), eq(summed.total, summed.chars)))
    // A claim that is repeated finds its lease and takes nothing more.
    return db.update(deliveries)
      .set({
        state: 'read',
        leaseId: sql`${p('lease')}`,
        readAt: sql`${p('at')}`,
        wokenAt: sql`coalesce(${deliveries.wokenAt}, ${p('wokenAt')})`,
      })
      .where(inAccount(deliveries, ofAgent, sql`${deliveries.seq} IN ${fitting}`, notExists(lease))).toSQL()
  }
  const claim = claiming(inInbox(p('agent'), isUnread))
  // Found by their ids: the index of unread messages has none.
  const claimMessages = claiming(inAccount(deliveries, ofAgent, isUnread, isOneOf(deliveries.messageId, 'messages')))
  const isOfConversation = exists(
    db.select({ one: sql`1` }).from(messages).where(and(
      eq(messages.accountId, deliveries.senderAccountId),
      eq(messages.id, deliveries.messageId),
      eq(messages.conversationId, p('conversationId')),
    )),
  )
  const claimConversation = claiming(inInbox(p('agent'), isUnread, isOfConversation))
  // A claim that took nothing makes no lease.
  const add = db.insert(leases).select(
    db.select({
      accountId: value('account'),
      agentId: value('agent'),
      id: value('lease'),
      holder: value('holder'),
      createdAt: value<number>('at'),
      expiresAt: value<number | null>('expiresAt'),
    }).from(sql`(SELECT 1)`)
      .where(exists(db.select({ one: sql`1` }).from(deliveries).where(inAccount(deliveries, ofLease)))),
  ).onConflictDoNothing().toSQL()
  const unread = db.select({ n: count() }).from(someUnread(db, 'agent'))
  const leased = selectInboxMessages(db, ofLease, {
    remaining: sql<number>`${unread}`.as('remaining'),
    longTurns: longTurns(db),
  }).limit(p('limit')).toSQL()
  const asInboxMessage = inboxMessageReader(db)

  const isInFlight = exists(lease)
  const logRelease = db.insert(leaseReleases).select(
    db.select({
      accountId: deliveries.accountId,
      agentId: deliveries.agentId,
      senderAccountId: deliveries.senderAccountId,
      messageId: deliveries.messageId,
      n: sql<number>`${deliveries.releaseCount} + 1`.as('n'),
      leasedAt: sql<number>`${deliveries.readAt}`.as('leased_at'),
      releasedAt: value<number>('at'),
    }).from(deliveries)
      .where(inAccount(deliveries, ofAgent, ofLease, lt(deliveries.releaseCount, maxReleases), isInFlight)),
  ).onConflictDoNothing().toSQL()
  const isTimed = exists(
    db.select({ one: sql`1` }).from(leases)
      .where(inAccount(leases, eq(leases.id, p('lease')), isNotNull(leases.expiresAt))),
  )
  const parkReturned = db.update(deliveries).set({
    state: 'parked',
    leaseId: null,
    readAt: sql`${p('at')}`,
    releaseCount: sql`${deliveries.releaseCount} + 1`,
  }).where(
    inAccount(
      deliveries,
      ofAgent,
      ofLease,
      isTimed,
      sql`(${deliveries.releaseCount} + 1) % ${parkedAtReturns} = 0`,
    ),
  ).toSQL()
  const release = db.update(deliveries)
    .set({ state: 'unread', leaseId: null, readAt: null, releaseCount: sql`${deliveries.releaseCount} + 1` })
    .where(inAccount(deliveries, ofAgent, ofLease, isInFlight)).toSQL()
  // Only if the agent is still here, because it may have moved to another account.
  const giveUp = db.insert(leases).select(
    db.select({
      accountId: agents.accountId,
      agentId: agents.id,
      id: value('lease'),
      holder: value('holder'),
      createdAt: value<number>('at'),
      expiresAt: value<number | null>('expiresAt'),
    }).from(agents).where(inAccount(agents, eq(agents.id, p('agent')))),
  ).onConflictDoNothing().toSQL()
  const remove = db.delete(leases).where(inAccount(leases, eq(leases.id, p('lease')))).toSQL()

  const parkLeased = db.update(deliveries).set({ state: 'parked', leaseId: null, readAt: sql`${p('at')}` })
    .where(inAccount(deliveries, ofAgent, ofLease, isOneOf(deliveries.seq, 'seqs')))
    .toSQL()
  const parkUnread = db.update(deliveries).set({ state: 'parked', readAt: sql`${p('at')}` })
    .where(inInbox(p('agent'), isUnread)).toSQL()
  const agentIsDeleted = exists(
    db.select({ one: sql`1` }).from(agents)
      .where(inAccount(agents, eq(agents.id, p('agent')), isNotNull(agents.deletedAt))),
  )
  const parkOfDeletedAgent = db.update(deliveries).set({ state: 'parked', readAt: sql`${p('at')}` })
    .where(inInbox(p('agent'), isUnread, agentIsDeleted)).toSQL()

  const announced = db.select({ seq: deliveries.seq }).from(deliveries)
    .where(inInbox(p('agent'), isUnread, gt(deliveries.seq, p('after')), lte(deliveries.seq, p('upTo'))))
    .orderBy(desc(deliveries.seq)).limit(maxWoken)
  const woken = db.update(deliveries).set({ wokenAt: sql`${p('at')}` })
    .where(inAccount(deliveries, isNull(deliveries.wokenAt), sql`${deliveries.seq} IN ${announced}`)).toSQL()

  return {
    reads: () => ({
      /**
       * Decode the rows of `LeaseParts.messages`; `remaining` is known if the lease has messages. `longTurns` are the turns
       * of the conversations that are to be told, by their keys.
       */
      messages: (rows: Row[]): {
        messages: InboxMessage[]
        remaining?: number
        longTurns?: Record<string, number>
      } => ({
        messages: rows.map(asInboxMessage),
        ...(rows.length > 0 && { remaining: Number(rows[0].remaining) }),
        ...(rows[0]?.longTurns && { longTurns: JSON.parse(String(rows[0].longTurns)) }),
      }),
    }),
    changes: (account: AccountBinding) => {
      const claimOf = (selection: LeaseSelection | undefined, values: PlaceholderValues) => {
        if (!selection) return account.bind(claim, values)
        return 'messages' in selection
          ? account.bind(claimMessages, { ...values, messages: JSON.stringify(selection.messages) })
          : account.bind(claimConversation, { ...values, conversationId: selection.conversation })
      }
      const released = (agent: string, lease: string, at: number): Statement[] => [
        { ...account.bind(logRelease, { agent, lease, at }), rows: 50 },
        { ...account.bind(parkReturned, { agent, lease, at }), rows: 1 },
        { ...account.bind(release, { agent, lease }), rows: 50 },
        { ...account.bind(parkOfDeletedAgent, { agent, at }), rows: 50 },
        account.bind(remove, { lease }),
      ]
      return {
        /**
         * Lease the oldest unread messages that fit. The part `messages` returns them, oldest first, with how many
         * messages remain unread at this commit; 100 stands for 100 or more. Without unread messages nothing is written.
         * `wokenAt` is when a wait for them ended, or null.
         */
        take: (
          lease: NewLease,
          { limit, maxChars, expected }: LeaseSize,
          wokenAt: number | null,
          selection?: LeaseSelection,
        ): LeaseParts => {
          const { id, agent, holder, at, expiresAt } = lease
          const values = { agent, lease: id, limit, maxChars, at, wokenAt }
          return {
            claim: {
              ...claimOf(selection, values),
              rows: Math.min(limit, expected),
              subject: agent,
            },
            lease: { ...account.bind(add, { agent, lease: id, holder, at, expiresAt }), subject: agent },
            messages: {
              ...account.bind(leased, { agent, lease: id, limit, since: at - hour }),
              rows: 0,
              subject: agent,
            },
          }
        },
        /** The messages arrived: they are not redelivered. */
        ack: (lease: string) => ({ ...account.bind(remove, { lease }), subject: lease }),
        /**
         * Make the messages of a lease unread again, or park them if their agent is deleted, or at their fifth return
         * from a lease that expires. Does nothing once the lease was acked or released.
         */
        release: released,
        /**
         * Release a lease that may have been made or not. Until it expires, a claim that comes late finds it and takes
         * nothing.
         */
        giveUp: ({ id, agent, holder, at, expiresAt }: NewLease): Statement[] => [
          ...released(agent, id, at),
          account.bind(giveUp, { agent, lease: id, holder, at, expiresAt }),
        ],
        /** Park leased messages that cannot be shown. */
        parkLeased: (agent: string, lease: string, seqs: number[], at: number) =>
          account.bind(parkLeased, { agent, lease, seqs: JSON.stringify(seqs), at }),
        /** Park every unread message of an agent that is being deleted. */
        parkUnread: (agent: string, at: number) => account.bind(parkUnread, { agent, at }),
        /** Record that the agent was notified of its unread messages after the position `after`, up to `upTo`. */
        woken: (agent: string, after: number, upTo: number, at: number) =>
          account.bind(woken, { agent, after, upTo, at }),
      }
    },
  }
}
