/** Handing mail out, and taking back what reached nobody. Reliability 2.2. */
import type { Row } from '@libsql/client'
import { and, count, desc, eq, exists, gt, isNotNull, isNull, lt, lte, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { agents, deliveries, givenBack, openReads } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope, type Statement, value } from '../driver/binding.ts'
import { type Mail, mailReader, selectMail } from './inbox-message.ts'

/** Most hand-outs of one delivery that are remembered when they are given back. */
const maxRemembered = 20
/** Of how many messages a wake-up is noted: those behind them are old. */
const maxWoken = 50

const isOneOf = (seq: SQLiteColumn) => sql`${seq} IN (SELECT value FROM json_each(${p('seqs')}))`

export function prepareHandOuts(db: Db) {
  const mine = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const ofBatch = and(eq(deliveries.batchId, p('batch')), isNotNull(deliveries.batchId))!

  const claim = db.update(deliveries)
    .set({
      state: 'read',
      batchId: sql`${p('batch')}`,
      readAt: sql`${p('at')}`,
      wokenAt: sql`coalesce(${deliveries.wokenAt}, ${p('wokenAt')})`,
    })
    .where(own(deliveries, mine, sql`${deliveries.state} = 'unread'`, isOneOf(deliveries.seq))).toSQL()
  // Only what the claim directly before took: an empty hand-out is not open.
  const open = db.insert(openReads).select(
    db.select({
      accountId: value('account'),
      agentId: value('agent'),
      batchId: value('batch'),
      instanceId: value('instance'),
      createdAt: value<number>('at'),
    }).from(sql`(SELECT 1)`).where(sql`changes() > 0`),
  ).onConflictDoNothing().toSQL()
  const unread = db.select({ n: count() }).from(deliveries).where(own(deliveries, mine, isUnread))
  const mailOf = selectMail(db, ofBatch, { remaining: sql<number>`${unread}`.as('remaining') }).limit(p('limit'))
    .toSQL()
  const asMail = mailReader(db)

  const isOpen = exists(
    db.select({ one: sql`1` }).from(openReads).where(own(openReads, eq(openReads.batchId, p('batch')))),
  )
  const remember = db.insert(givenBack).select(
    db.select({
      accountId: deliveries.accountId,
      agentId: deliveries.agentId,
      senderAccountId: deliveries.senderAccountId,
      messageId: deliveries.messageId,
      n: sql<number>`${deliveries.returned} + 1`.as('n'),
      readAt: sql<number>`${deliveries.readAt}`.as('read_at'),
      returnedAt: value<number>('at'),
    }).from(deliveries).where(own(deliveries, mine, ofBatch, lt(deliveries.returned, maxRemembered), isOpen)),
  ).onConflictDoNothing().toSQL()
  const putBack = db.update(deliveries)
    .set({ state: 'unread', batchId: null, readAt: null, returned: sql`${deliveries.returned} + 1` })
    .where(own(deliveries, mine, ofBatch, isOpen)).toSQL()
  const close = db.delete(openReads).where(own(openReads, eq(openReads.batchId, p('batch')))).toSQL()

  const parkOf = db.update(deliveries).set({ state: 'parked', batchId: null, readAt: sql`${p('at')}` })
    .where(own(deliveries, mine, ofBatch, isOneOf(deliveries.seq)))
    .toSQL()
  const park = db.update(deliveries).set({ state: 'parked', readAt: sql`${p('at')}` })
    .where(own(deliveries, mine, isUnread)).toSQL()
  const isDeleted = exists(
    db.select({ one: sql`1` }).from(agents).where(own(agents, eq(agents.id, p('agent')), isNotNull(agents.deletedAt))),
  )
  const parkOfDeleted = db.update(deliveries).set({ state: 'parked', readAt: sql`${p('at')}` })
    .where(own(deliveries, mine, isUnread, isDeleted)).toSQL()

  const announced = db.select({ seq: deliveries.seq }).from(deliveries)
    .where(own(deliveries, mine, isUnread, gt(deliveries.seq, p('after')), lte(deliveries.seq, p('upTo'))))
    .orderBy(desc(deliveries.seq)).limit(maxWoken)
  const woken = db.update(deliveries).set({ wokenAt: sql`${p('at')}` })
    .where(own(deliveries, isNull(deliveries.wokenAt), sql`${deliveries.seq} IN ${announced}`)).toSQL()

  return {
    reads: () => ({
      /** What the statement `batch` of a unit answered; what remains is known where there is a batch. */
      batch: (rows: Row[]): { mail: Mail[]; remaining?: number } => ({
        mail: rows.map(asMail),
        ...(rows.length > 0 && { remaining: Number(rows[0].remaining) }),
      }),
    }),
    changes: (scope: Scope) => ({
      /**
       * Hand out those of the messages `seqs` that are still unread as `batch`. `wokenAt` is when a wait for them
       * ended, or null.
       */
      claim: (agent: string, batch: string, seqs: number[], at: number, wokenAt: number | null): Statement => ({
        ...scope.bind(claim, { agent, batch, seqs: JSON.stringify(seqs), at, wokenAt }),
        rows: seqs.length,
      }),
      /** Note for `instance` that the answer is under way. Must stand directly behind the claim. */
      open: (agent: string, batch: string, instance: string, at: number) =>
        scope.bind(open, { agent, batch, instance, at }),
      /**
       * Not a change: the messages of a batch, oldest first, and how many remain unread at this commit, for
       * `reads.batch`. `limit` is how many the batch may have.
       */
      batch: (agent: string, batch: string, limit: number): Statement => ({
        ...scope.bind(mailOf, { agent, batch, limit }),
        rows: 0,
      }),
      /** The answer was handed over. */
      close: (batch: string) => scope.bind(close, { batch }),
      /** Set an open batch back to unread, or aside where its agent is deleted. Repeated, or after it was closed, it does nothing. */
      giveBack: (agent: string, batch: string, at: number): Statement[] => [
        { ...scope.bind(remember, { agent, batch, at }), rows: 50 },
        { ...scope.bind(putBack, { agent, batch }), rows: 50 },
        { ...scope.bind(parkOfDeleted, { agent, at }), rows: 50 },
        scope.bind(close, { batch }),
      ],
      /** Set messages of a batch aside that nobody can be shown. */
      parkOf: (agent: string, batch: string, seqs: number[], at: number) =>
        scope.bind(parkOf, { agent, batch, seqs: JSON.stringify(seqs), at }),
      /** Set everything that waits aside: nobody will read it any more. */
      park: (agent: string, at: number) => scope.bind(park, { agent, at }),
      /** Note that the agent was told of what waits behind the place `after`, up to `upTo`. */
      woken: (agent: string, after: number, upTo: number, at: number) => scope.bind(woken, { agent, after, upTo, at }),
    }),
  }
}
