/** Leases that expire, which their reader extends, acks and releases. See docs/delivery.md, "Leases of runners". */
import { and, count, eq, exists, gt, isNotNull, lte, notExists, sql } from 'drizzle-orm'
import { deliveries, leases, messages } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'

/** How many expired leases one look finds. The worker releases all others. */
const maxExpired = 100
/** How many open leases that expire an agent has at most. Each is a row that the worker looks at. */
export const maxOpenLeases = 100

/** Messages of one lease of an agent: all, or those with these ids. */
export interface LeasedMessages {
  agent: string
  lease: string
  messages?: readonly string[]
}

/**
 * The parts of ending a lease for some of its messages. They leave it under the id `into`, so that a repeated unit ends
 * nothing twice; a lease without messages is closed.
 */
export interface EndParts {
  move: Statement
  close: Statement
  /** Returns the column `n`: how many messages were ended. */
  ended: Statement
}

export function prepareTimedLeases(db: Db) {
  const one = { one: sql`1` }
  const ofAgent = eq(leases.agentId, p('agent'))
  const isLive = and(ofAgent, gt(leases.expiresAt, p('at')))!
  const live = inAccount(leases, eq(leases.id, p('lease')), isLive)
  const isOpen = exists(db.select(one).from(leases).where(live))
  const ofLease = and(
    eq(deliveries.agentId, p('agent')),
    eq(deliveries.leaseId, p('lease')),
    isNotNull(deliveries.leaseId),
  )!
  const isNamed = sql`(${p('messages')} IS NULL
    OR ${deliveries.messageId} IN (SELECT value FROM json_each(${p('messages')})))`

  const open = db.select({ expiresAt: leases.expiresAt }).from(leases).where(live).prepare()
  const lastExpiry = db.select({ at: sql<number | null>`max(${leases.expiresAt})` }).from(leases)
    .where(inAccount(leases, isLive)).prepare()
  const held = db.select({ messageId: deliveries.messageId }).from(deliveries)
    .where(inAccount(deliveries, ofLease, isOpen)).prepare()
  const expired = db.select({ id: leases.id }).from(leases)
    .where(inAccount(leases, ofAgent, lte(leases.expiresAt, p('at')))).limit(maxExpired).prepare()

  const openOnes = db.select(one).from(leases).where(inAccount(leases, isLive)).limit(maxOpenLeases).prepare()

  const extend = db.update(leases).set({ expiresAt: sql`${p('expiresAt')}` }).where(live)
    .returning({ id: leases.id }).toSQL()

  const named = db.select(one).from(deliveries).where(inAccount(deliveries, ofLease, isNamed))
  // A lease of their own, for a release: it is released as any other.
  const split = db.insert(leases).select(
    db.select({
      accountId: leases.accountId,
      agentId: leases.agentId,
      id: value('into'),
      holder: leases.holder,
      createdAt: leases.createdAt,
      expiresAt: leases.expiresAt,
    }).from(leases).where(and(live, exists(named))),
  ).onConflictDoNothing().toSQL()
  const move = db.update(deliveries).set({ leaseId: sql`${p('into')}` })
    .where(inAccount(deliveries, ofLease, isNamed, isOpen)).toSQL()
  const left = db.select(one).from(deliveries).where(inAccount(deliveries, ofLease))
  const close = db.delete(leases).where(and(live, notExists(left))).toSQL()
  const ended = db.select({ n: count().as('n') }).from(deliveries)
    .where(inAccount(deliveries, eq(deliveries.leaseId, p('into')), isNotNull(deliveries.leaseId))).limit(1).toSQL()

  // Once the message of the unit is stored, the unit is repeated, and the lease has ended with the first time.
  const isStored = exists(db.select(one).from(messages).where(inAccount(messages, eq(messages.id, p('id')))))
  const heldCount = db.select({ n: count() }).from(deliveries).where(inAccount(deliveries, ofLease, isNamed))
  const holds = sql`${isOpen} AND (${heldCount}) >= coalesce(json_array_length(${p('messages')}), 0)`
  const requireHeld = precondition(db, sql`${isStored} OR (${holds})`)

  const listOf = (messages: readonly string[] | undefined) => messages ? JSON.stringify([...new Set(messages)]) : null

  return {
    reads: (account: AccountBinding) => ({
      /** Whether a lease of the agent is open at `at`. */
      isOpen: async (agent: string, lease: string, at: number) =>
        (await account.one(open, { agent, lease, at })) !== undefined,
      /** When the last lease of the agent that is open at `at` expires; null without one. */
      lastExpiry: async (agent: string, at: number) => (await account.one(lastExpiry, { agent, at }))?.at ?? null,
      /** How many leases of the agent are open at `at`, counted up to 100. */
      openCount: async (agent: string, at: number) => (await account.all(openOnes, { agent, at })).length,
      /** The ids of the messages of a lease; none if it has ended. */
      messageIds: async (agent: string, lease: string, at: number) =>
        (await account.all(held, { agent, lease, at })).map(({ messageId }) => messageId),
      /** The ids of leases of the agent that have expired at `at` and are not released yet, at most 100. */
      expired: async (agent: string, at: number) => (await account.all(expired, { agent, at })).map(({ id }) => id),
    }),
    changes: (account: AccountBinding) => ({
      /** Returns the column `id`; no row if the lease has ended. */
      extend: (agent: string, lease: string, at: number, expiresAt: number) =>
        account.bind(extend, { agent, lease, at, expiresAt }),
      /** Take messages out of a lease that is open at `at`: they are acked. */
      ack: ({ agent, lease, messages }: LeasedMessages, into: string, at: number): EndParts => ({
        move: {
          ...account.bind(move, { agent, lease, into, messages: listOf(messages), at }),
          rows: messages?.length ?? 50,
        },
        close: account.bind(close, { agent, lease, at }),
        ended: { ...account.bind(ended, { into }), rows: 0 },
      }),
      /** Give messages of a lease that is open at `at` a lease of their own, `into`, which can be released. */
      split: ({ agent, lease, messages }: LeasedMessages, into: string, at: number) => ({
        split: account.bind(split, { agent, lease, into, messages: listOf(messages), at }),
        move: { ...account.bind(move, { agent, lease, into, messages: listOf(messages), at }), rows: 50 },
        close: account.bind(close, { agent, lease, at }),
        ended: { ...account.bind(ended, { into }), rows: 0 },
      }),
      /**
       * Fails its unit, unless the lease is open at `at` and holds the messages, or the message `id` is stored already.
       */
      requireHeld: ({ agent, lease, messages }: LeasedMessages, id: string, at: number) =>
        account.bind(requireHeld, { agent, lease, messages: listOf(messages), id, at }),
    }),
  }
}
