/** What a send tells its sender beyond the message: counted in the unit of the send, so that it holds at its commit. */
import { and, count, eq, gt, type SQL, sql } from 'drizzle-orm'
import { agents, deliveries, idempotencyKeys, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope, type Statement, type Values } from '../driver/binding.ts'

/** Times are milliseconds since the epoch. Fields are missing where they do not apply. */
export interface Answer {
  /** What waits for the sender itself. */
  unread: number
  /** Of an agent of the own account: what waits for it, this message included; 100 stands for 100 or more. */
  recipientUnread?: number
  recipientSeenAt?: number | null
  /** Of a channel: its other members, and how many of them were seen lately. */
  recipients?: number
  recipientsActive?: number
}

/** By how much more a mailbox is full nobody needs to know, and the sender would pay for the counting. */
const maxCounted = 100

export function prepareAnswers(db: Db) {
  const isUnread = sql`${deliveries.state} = 'unread'`
  const waiting = db.select({ n: count() }).from(deliveries)
    .where(own(deliveries, eq(deliveries.agentId, p('from')), isUnread))
  const first = db.select({ one: sql`1`.as('one') }).from(deliveries)
    .where(own(deliveries, eq(deliveries.agentId, p('to')), isUnread)).limit(maxCounted).as('first')
  const reached = (condition?: SQL) =>
    db.select({ n: count() }).from(deliveries)
      .innerJoin(agents, and(eq(agents.accountId, deliveries.accountId), eq(agents.id, deliveries.agentId), condition))
      .where(own(deliveries, eq(deliveries.messageId, p('id')), eq(deliveries.senderAccountId, p('account'))))
  const isActive = gt(agents.lastSeenAt, p('activeSince'))

  const ofStranger = prepared(sql`json_object('unread', (${waiting}))`)
  const ofAgent = prepared(sql`json_object('unread', (${waiting}),
    'recipientUnread', (SELECT count(*) FROM ${first}), 'recipientSeenAt', ${p('seenAt')})`)
  const ofChannel = prepared(sql`json_object('unread', (${waiting}),
    'recipients', (${reached()}), 'recipientsActive', (${reached(isActive)}))`)

  function prepared(answer: SQL) {
    return {
      told: db.select({ answer: sql`${answer}`.as('answer') }).from(messages)
        .where(own(messages, eq(messages.id, p('id')))).limit(1).toSQL(),
      // Written once: a repeat of the send is told what the first was.
      kept: db.update(idempotencyKeys).set({ answer: sql`coalesce(${idempotencyKeys.answer}, ${answer})` })
        .where(own(
          idempotencyKeys,
          eq(idempotencyKeys.agentId, p('from')),
          eq(idempotencyKeys.key, p('key')),
          eq(idempotencyKeys.messageId, p('id')),
        )).returning({ answer: idempotencyKeys.answer }).toSQL(),
    }
  }

  return {
    reads: () => ({}),
    changes: (scope: Scope) => {
      const bound = ({ told, kept }: typeof ofAgent, send: Send, values: Values): Statement =>
        send.key === null
          ? { ...scope.bind(told, { ...send, ...values }), rows: 0 }
          : scope.bind(kept, { ...send, ...values })
      return {
        /**
         * Column `answer`, JSON of an `Answer`; no row if the message is not stored. Kept under the key of the send,
         * if it has one. Stands behind `addKey`.
         */
        ofAgent: ({ id, from, key }: Send, to: string, seenAt: number | null) =>
          bound(ofAgent, { id, from, key }, { to, seenAt }),
        /** About an agent of another account nothing is told. */
        ofStranger: ({ id, from, key }: Send) => bound(ofStranger, { id, from, key }, {}),
        /** `activeSince` is the time from which on a recipient counts as active. */
        ofChannel: ({ id, from, key }: Send, activeSince: number) =>
          bound(ofChannel, { id, from, key }, { activeSince }),
      }
    },
  }
}

type Send = { id: string; from: string; key: string | null }
