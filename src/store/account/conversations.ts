/** The turns and pauses of conversations, as `turns.ts` counts them. See docs/delivery.md, "Conversations that run away". */
import { and, desc, eq, exists, gt, isNotNull, isNull, lte, sql } from 'drizzle-orm'
import { accounts, agents, conversationPauses, conversationTurns, recentReads } from '../../../db/schema.ts'
import { type AccountBinding, databaseTime, p, precondition, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'

export type PauseReason = typeof conversationPauses.$inferSelect.reason

/** The newest count of one conversation by one process. `agents` and `steps` are JSON. */
export interface StoredTurns {
  key: string
  agents: string
  turns: number
  resetAt: number
  steps: string
  turnedAt: number
}

/** A conversation that is to be paused; `agents` is JSON. */
export interface NewPause {
  id: string
  key: string
  agents: string
  reason: PauseReason
  turns: number
  hops: number
  at: number
}

/** How many conversations a page shows, and how many rows are added up for it. */
const maxShown = 50
const maxRows = 1_000

export function prepareConversations(db: Db) {
  const turnFields = {
    key: conversationTurns.key,
    agents: conversationTurns.agents,
    turns: conversationTurns.turns,
    resetAt: conversationTurns.resetAt,
    turnedAt: conversationTurns.turnedAt,
  }
  const turns = db.select(turnFields).from(conversationTurns)
    .where(inAccount(conversationTurns, gt(conversationTurns.turnedAt, p('since'))))
    .orderBy(desc(conversationTurns.turnedAt)).limit(maxRows).prepare()
  const pauseFields = {
    id: conversationPauses.id,
    key: conversationPauses.key,
    agents: conversationPauses.agents,
    reason: conversationPauses.reason,
    turns: conversationPauses.turns,
    hops: conversationPauses.hops,
    pausedAt: conversationPauses.pausedAt,
  }
  const isPaused = isNull(conversationPauses.resumedAt)
  const paused = db.select(pauseFields).from(conversationPauses).where(inAccount(conversationPauses, isPaused))
    .orderBy(desc(conversationPauses.pausedAt), conversationPauses.id).limit(maxShown).prepare()
  const ofId = and(eq(conversationPauses.id, p('id')), isPaused)
  const byId = db.select(pauseFields).from(conversationPauses).where(inAccount(conversationPauses, ofId)).prepare()
  const limits = db.select({ limits: accounts.turnLimits }).from(accounts).where(eq(accounts.id, p('account')))
    .prepare()
  const automated = db.select({ automated: agents.automated }).from(agents)
    .where(inAccount(agents, eq(agents.id, p('id')))).prepare()

  // The newest count replaces the older one, so that a repeated unit counts nothing twice.
  const storeTurns = db.insert(conversationTurns).select(
    db.select({
      accountId: value('account'),
      key: sql<string>`value ->> 0`.as('key'),
      counterId: value('counter'),
      agents: sql<string>`value ->> 1`.as('agents'),
      turns: sql<number>`value ->> 2`.as('turns'),
      resetAt: sql<number>`value ->> 3`.as('reset_at'),
      steps: sql<string>`value ->> 4`.as('steps'),
      turnedAt: sql<number>`value ->> 5`.as('turned_at'),
      changedAt: databaseTime.as('changed_at'),
    }).from(sql`json_each(${p('rows')})`).where(sql`true`),
  ).onConflictDoUpdate({
    target: [conversationTurns.accountId, conversationTurns.key, conversationTurns.counterId],
    set: {
      agents: sql`excluded.agents`,
      turns: sql`excluded.turns`,
      resetAt: sql`excluded.reset_at`,
      steps: sql`excluded.steps`,
      turnedAt: sql`excluded.turned_at`,
      changedAt: sql`excluded.changed_at`,
    },
  }).toSQL()
  const storeReads = db.insert(recentReads).select(
    db.select({
      accountId: value('account'),
      reader: sql<string>`value ->> 0`.as('reader'),
      source: sql<string>`value ->> 1`.as('source'),
      counterId: value('counter'),
      reads: sql<number>`value ->> 2`.as('reads'),
      answered: sql<number>`value ->> 3`.as('answered'),
      readAt: sql<number>`value ->> 4`.as('read_at'),
      changedAt: databaseTime.as('changed_at'),
    }).from(sql`json_each(${p('rows')})`).where(sql`true`),
  ).onConflictDoUpdate({
    target: [recentReads.accountId, recentReads.reader, recentReads.source, recentReads.counterId],
    set: {
      reads: sql`excluded.reads`,
      answered: sql`excluded.answered`,
      readAt: sql`excluded.read_at`,
      changedAt: sql`excluded.changed_at`,
    },
  }).toSQL()

  // What another process has paused stays as it is, so that the owners are told once.
  const pause = db.insert(conversationPauses).select(
    db.select({
      accountId: value('account'),
      id: value('id'),
      key: value('key'),
      agents: value('agents'),
      reason: value<PauseReason>('reason'),
      turns: value<number>('turns'),
      hops: value<number>('hops'),
      pausedAt: value<number>('at'),
      toldAt: sql<null>`NULL`.as('told_at'),
      resumedAt: sql<null>`NULL`.as('resumed_at'),
      changedAt: databaseTime.as('changed_at'),
    }).from(sql`(SELECT 1)`).where(sql`true`),
  ).onConflictDoUpdate({
    target: [conversationPauses.accountId, conversationPauses.key],
    set: {
      agents: sql`excluded.agents`,
      reason: sql`excluded.reason`,
      turns: sql`excluded.turns`,
      hops: sql`excluded.hops`,
      pausedAt: sql`excluded.paused_at`,
      toldAt: null,
      resumedAt: null,
      changedAt: sql`excluded.changed_at`,
    },
    setWhere: isNotNull(conversationPauses.resumedAt),
  }).toSQL()
  const one = { one: sql`1` }
  const requirePaused = precondition(
    db,
    exists(db.select(one).from(conversationPauses).where(inAccount(conversationPauses, ofId))),
  )
  const resume = db.update(conversationPauses).set({ resumedAt: sql`${p('at')}`, changedAt: databaseTime })
    .where(inAccount(conversationPauses, ofId)).toSQL()
  const removeTurns = db.delete(conversationTurns)
    .where(inAccount(conversationTurns, eq(conversationTurns.key, p('conversation')))).toSQL()
  const ofUntold = and(eq(conversationPauses.id, p('id')), isNull(conversationPauses.toldAt))
  const requireUntold = precondition(
    db,
    exists(db.select(one).from(conversationPauses).where(inAccount(conversationPauses, ofUntold))),
  )
  const markTold = db.update(conversationPauses).set({ toldAt: sql`${p('at')}` })
    .where(inAccount(conversationPauses, ofUntold)).toSQL()
  const setLimits = db.update(accounts).set({ turnLimits: sql`${p('limits')}` }).where(eq(accounts.id, p('account')))
    .toSQL()
  const setAutomated = db.update(agents).set({ automated: sql`${p('automated')}` })
    .where(inAccount(agents, eq(agents.id, p('id')), isNull(agents.deletedAt))).toSQL()
  const removals = [
    db.delete(conversationTurns).where(inAccount(conversationTurns, lte(conversationTurns.turnedAt, p('turnedUntil'))))
      .returning({ at: conversationTurns.turnedAt }),
    db.delete(recentReads).where(inAccount(recentReads, lte(recentReads.readAt, p('readUntil'))))
      .returning({ at: recentReads.readAt }),
    db.delete(conversationPauses)
      .where(inAccount(conversationPauses, lte(conversationPauses.resumedAt, p('resumedUntil'))))
      .returning({ at: conversationPauses.resumedAt }),
  ].map((statement) => statement.toSQL())

  return {
    reads: (account: AccountBinding) => ({
      /** Counts of conversations with a turn since then, the newest first; those of one key are to be added up. */
      turns: (since: number) => account.all(turns, { since }),
      /** The paused conversations, the newest first; `agents` is JSON. */
      paused: () => account.all(paused),
      /** A paused conversation. */
      pausedById: (id: string) => account.one(byId, { id }),
      /** The limits that the account changed. */
      limits: async () => (await account.one(limits))?.limits ?? {},
      /** Whether an agent is marked as automated. */
      isAutomated: async (id: string) => (await account.one(automated, { id }))?.automated ?? false,
    }),
    changes: (account: AccountBinding) => ({
      /** Store the newest counts of one process. */
      storeTurns: (counter: string, rows: StoredTurns[]): Statement => ({
        ...account.bind(storeTurns, {
          counter,
          rows: JSON.stringify(rows.map((c) => [c.key, c.agents, c.turns, c.resetAt, c.steps, c.turnedAt])),
        }),
        rows: rows.length,
      }),
      /** Store what agents read and answered in one process. */
      storeReads: (
        counter: string,
        rows: { reader: string; source: string; reads: number; answered: number; readAt: number }[],
      ): Statement => ({
        ...account.bind(storeReads, {
          counter,
          rows: JSON.stringify(rows.map((read) => [read.reader, read.source, read.reads, read.answered, read.readAt])),
        }),
        rows: rows.length,
      }),
      /** Pause a conversation, unless it is paused. */
      addPause: (row: NewPause) => account.bind(pause, { ...row }),
      /** Fails the unit unless the conversation is paused when it runs. */
      requirePaused: (id: string) => account.bind(requirePaused, { id }),
      resume: (id: string, at: number) => account.bind(resume, { id, at }),
      /** Remove the counts of a conversation that begins again. */
      removeTurns: (key: string) => account.bind(removeTurns, { conversation: key }),
      /** Fails the unit if the owners were told of the pause. */
      requireUntold: (id: string) => account.bind(requireUntold, { id }),
      markTold: (id: string, at: number) => account.bind(markTold, { id, at }),
      /** Store the limits that differ from the defaults; null for none. */
      setLimits: (limits: string | null) => account.bind(setLimits, { limits }),
      setAutomated: (id: string, isAutomated: boolean) =>
        account.bind(setAutomated, { id, automated: isAutomated ? 1 : 0 }),
      /** Remove what is older than these times. Each statement returns a row for each that it removed. */
      removeOld: (turnedUntil: number, readUntil: number, resumedUntil: number): Statement[] =>
        removals.map((statement) => account.bind(statement, { turnedUntil, readUntil, resumedUntil })),
    }),
  }
}
