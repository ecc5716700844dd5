/** Leases: messages that a reader has, until they are acked or released. See docs/delivery.md, "Leases". */
import type { Row } from '@libsql/client'
import { and, count, desc, eq, exists, gt, isNotNull, isNull, lt, lte, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { agents, deliveries, leaseReleases, leases } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'
import { type InboxMessage, inboxMessageReader, selectInboxMessages } from './inbox-message.ts'
import { someUnread } from './unread.ts'

/** A lease about to be made. */
export interface NewLease {
  id: string
  agent: string
  /** The id of the process that sends the messages to the reader. */
  holder: string
  at: number
  /** When the lease expires. Null: it ends only with its holder. */
  expiresAt: number | null
}

/** The parts of leasing messages. `lease` and `messages` depend on the rows that `claim` has changed. */
export interface LeaseParts {
  claim: Statement
  lease: Statement
  /** Returns the leased messages as raw rows, which `read.leases.messages` decodes. */
  messages: Statement
}

/** How many releases of one delivery its timeline keeps. */
const maxReleases = 20
/** How many messages one wake-up marks as woken: the newest. */
const maxWoken = 50

const isOneOf = (seq: SQLiteColumn) => sql`${seq} IN (SELECT value FROM json_each(${p('seqs')}))`

export function prepareLeases(db: Db) {
  const ofAgent = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const ofLease = and(eq(deliveries.leaseId, p('lease')), isNotNull(deliveries.leaseId))!

  const claim = db.update(deliveries)
    .set({
      state: 'read',
      leaseId: sql`${p('lease')}`,
      readAt: sql`${p('at')}`,
      wokenAt: sql`coalesce(${deliveries.wokenAt}, ${p('wokenAt')})`,
    })
    .where(inAccount(deliveries, ofAgent, sql`${deliveries.state} = 'unread'`, isOneOf(deliveries.seq))).toSQL()
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
  const leased = selectInboxMessages(db, ofLease, { remaining: sql<number>`${unread}`.as('remaining') })
    .limit(p('limit')).toSQL()
  const asInboxMessage = inboxMessageReader(db)

  const isInFlight = exists(
    db.select({ one: sql`1` }).from(leases).where(inAccount(leases, eq(leases.id, p('lease')))),
  )
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
  const release = db.update(deliveries)
    .set({ state: 'unread', leaseId: null, readAt: null, releaseCount: sql`${deliveries.releaseCount} + 1` })
    .where(inAccount(deliveries, ofAgent, ofLease, isInFlight)).toSQL()
  const remove = db.delete(leases).where(inAccount(leases, eq(leases.id, p('lease')))).toSQL()

  const parkLeased = db.update(deliveries).set({ state: 'parked', leaseId: null, readAt: sql`${p('at')}` })
    .where(inAccount(deliveries, ofAgent, ofLease, isOneOf(deliveries.seq)))
    .toSQL()
  const parkUnread = db.update(deliveries).set({ state: 'parked', readAt: sql`${p('at')}` })
    .where(inAccount(deliveries, ofAgent, isUnread)).toSQL()
  const agentIsDeleted = exists(
    db.select({ one: sql`1` }).from(agents)
      .where(inAccount(agents, eq(agents.id, p('agent')), isNotNull(agents.deletedAt))),
  )
  const parkOfDeletedAgent = db.update(deliveries).set({ state: 'parked', readAt: sql`${p('at')}` })
    .where(inAccount(deliveries, ofAgent, isUnread, agentIsDeleted)).toSQL()

  const announced = db.select({ seq: deliveries.seq }).from(deliveries)
    .where(inAccount(deliveries, ofAgent, isUnread, gt(deliveries.seq, p('after')), lte(deliveries.seq, p('upTo'))))
    .orderBy(desc(deliveries.seq)).limit(maxWoken)
  const woken = db.update(deliveries).set({ wokenAt: sql`${p('at')}` })
    .where(inAccount(deliveries, isNull(deliveries.wokenAt), sql`${deliveries.seq} IN ${announced}`)).toSQL()

  return {
    reads: () => ({
      /** Decode the rows of `LeaseParts.messages`; `remaining` is known if the lease has messages. */
      messages: (rows: Row[]): { messages: InboxMessage[]; remaining?: number } => ({
        messages: rows.map(asInboxMessage),
        ...(rows.length > 0 && { remaining: Number(rows[0].remaining) }),
      }),
    }),
    changes: (account: AccountBinding) => ({
      /**
       * Lease the messages at the positions `seqs`, except any that are no longer unread. The part `messages` returns
       * the leased ones, oldest first, with how many messages remain unread at this commit; 100 stands for 100 or more.
       * `wokenAt` is when a wait for them ended, or null.
       */
      take: (lease: NewLease, seqs: number[], wokenAt: number | null): LeaseParts => {
        const { id, agent, holder, at, expiresAt } = lease
        return {
          claim: {
            ...account.bind(claim, { agent, lease: id, seqs: JSON.stringify(seqs), at, wokenAt }),
            rows: seqs.length,
          },
          lease: account.bind(add, { agent, lease: id, holder, at, expiresAt }),
          messages: { ...account.bind(leased, { agent, lease: id, limit: seqs.length }), rows: 0 },
        }
      },
      /** The messages arrived: they are not redelivered. */
      ack: (lease: string) => account.bind(remove, { lease }),
      /**
       * Make the messages of a lease unread again, or park them if their agent is deleted. Does nothing once the lease
       * was acked or released.
       */
      release: (agent: string, lease: string, at: number): Statement[] => [
        { ...account.bind(logRelease, { agent, lease, at }), rows: 50 },
        { ...account.bind(release, { agent, lease }), rows: 50 },
        { ...account.bind(parkOfDeletedAgent, { agent, at }), rows: 50 },
        account.bind(remove, { lease }),
      ],
      /** Park leased messages that cannot be shown. */
      parkLeased: (agent: string, lease: string, seqs: number[], at: number) =>
        account.bind(parkLeased, { agent, lease, seqs: JSON.stringify(seqs), at }),
      /** Park every unread message of an agent that is being deleted. */
      parkUnread: (agent: string, at: number) => account.bind(parkUnread, { agent, at }),
      /** Record that the agent was notified of its unread messages after the position `after`, up to `upTo`. */
      woken: (agent: string, after: number, upTo: number, at: number) =>
        account.bind(woken, { agent, after, upTo, at }),
    }),
  }
}
