/** How often the last sender of a conversation changed: its turns. See docs/delivery.md, "Conversations that run away". */
import { and, desc, eq, exists, gt, isNotNull, isNull, not, or, type SQL, sql } from 'drizzle-orm'
import { accounts, agents, conversationTurns as turns, messages } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'
import type { InboxAddress } from './new-message.ts'

/** The limits of the conversations of an account. 0: no limit. */
export interface TurnLimits {
  /** Agents are told after this many turns within an hour. */
  warn: number
  /** The conversation is paused after this many within an hour. */
  perHour: number
  /** A message that more answers than this led to is refused. */
  hops: number
}

/** The limits of an account that changed none. */
export const defaultTurnLimits: TurnLimits = { warn: 30, perHour: 200, hops: 64 }

/** How a message is counted. */
export interface Turn {
  /** The pair or channel, under which it is counted; null: it never counts. */
  conversation: string | null
  /** The conversation id: under it counts what is no turn of its pair. */
  named: string | null
  /** The message of another agent that it replies to. */
  answered: string | null
  /** How many answers led to it; 0 if it never counts. */
  answers: number
}

/** A conversation as it is counted. Agents are aliases without `@`; times are milliseconds since the epoch. */
export interface CountedConversation {
  /** What it is counted under: it stays the same while the conversation goes on. */
  key: string
  agents: string[]
  /** Of the hour that began at `since`. */
  turns: number
  since: number
}

/** How many conversations a page shows. */
const maxShown = 50

/** The limits in the row of an account, and those of `defaultTurnLimits`. */
const limitIn = {
  warn: sql`coalesce(${accounts.turnLimits} ->> '$.warn', 30)`,
  perHour: sql`coalesce(${accounts.turnLimits} ->> '$.perHour', 200)`,
  hops: sql`coalesce(${accounts.turnLimits} ->> '$.hops', 64)`,
}

/** Whether one of the two agents is marked as automated. */
function isAutomated(db: Db): SQL {
  const [sender, recipient] = [['account', 'from'], ['toAccount', 'to']].map(([account, id]) =>
    db.select({ one: sql`1` }).from(agents)
      .where(and(eq(agents.accountId, p(account)), eq(agents.id, p(id)), eq(agents.automated, sql`1`)))
  )
  return or(exists(sender), exists(recipient))!
}

/** Whether a message changes the direction of a conversation. */
const changesDirection = (sender: SQL, answered: SQL) =>
  or(sql`${turns.sender} <> ${sender}`, sql`${answered} <> coalesce(${turns.answered}, '')`)!

/** Conversations whose agents are told, in an hour that is not over. */
// Written out, not bound: only then may the planner use the partial index.
const isLongSince = inAccount(turns, sql`${turns.isLong} = 1`, gt(turns.since, p('since')))

/** The row of a paused conversation that a message would be a turn of. */
const isPausedFor = (sender: SQL) =>
  inAccount(
    turns,
    sql`${turns.key} IN (${p('conversation')}, ${p('named')})`,
    isNotNull(turns.pausedAt),
    changesDirection(sender, sql`${p('answered')}`),
  )

/** Whether a message of `sender` is no turn of a paused conversation, and not too many answers led to it. */
export function mayTakeTurn(db: Db, sender: SQL): SQL {
  const one = { one: sql`1` }
  const isTooLong = db.select(one).from(accounts)
    .where(
      and(
        eq(accounts.id, p('account')),
        sql`${limitIn.hops} BETWEEN 1 AND ${p('answers')} - 1`,
        not(isAutomated(db)),
      ),
    )
  return sql`(${p('answers')} = 0 OR NOT EXISTS ${isTooLong})
    AND NOT EXISTS ${db.select(one).from(turns).where(isPausedFor(sender))}`
}

/** The conversations of the account whose agents are to be told, as JSON of their turns by key; null without any. */
export function longTurns(db: Db): SQL.Aliased<string | null> {
  const long = db.select({ all: sql`nullif(json_group_object(${turns.key}, ${turns.turns}), '{}')` }).from(turns)
    .where(isLongSince)
  return sql<string | null>`(${long})`.as('longTurns')
}

export function prepareTurns(db: Db) {
  const one = { one: sql`1` }
  const isOver = sql`${turns.since} <= excluded.since - 3600000`
  const count = sql<number>`CASE WHEN ${isOver} THEN 1 ELSE ${turns.turns} + 1 END`
  const reaches = (limit: keyof TurnLimits) =>
    sql<boolean>`(SELECT ${limitIn[limit]} BETWEEN 1 AND ${count} FROM ${accounts} WHERE id = excluded.account_id)`

  const isStored = exists(db.select(one).from(messages).where(inAccount(messages, eq(messages.id, p('id')))))
  /** Count a message under a key, in its account or in that of its recipient. */
  const counting = (key: 'conversation' | 'named', condition?: SQL) =>
    db.insert(turns).select(
      db.select({
        accountId: value('countedIn'),
        key: value(key),
        sender: value('alias'),
        answered: value<string | null>('answered'),
        turns: sql<number>`0`.as('turns'),
        since: value<number>('at'),
        agents: value<never>('agents'),
        isLong: sql<boolean>`0`.as('is_long'),
        pausedAt: sql<null>`NULL`.as('paused_at'),
        toldAt: sql<null>`NULL`.as('told_at'),
      }).from(sql`(SELECT 1)`).where(and(condition, isStored)),
    ).onConflictDoUpdate({
      target: [turns.accountId, turns.key],
      set: {
        sender: sql`excluded.sender`,
        answered: sql`coalesce(excluded.answered, ${turns.answered})`,
        turns: count,
        since: sql`CASE WHEN ${isOver} THEN excluded.since ELSE ${turns.since} END`,
        agents: sql`CASE WHEN json_array_length(${turns.agents}) = 16
          OR excluded.sender IN (SELECT value FROM json_each(${turns.agents}))
          THEN ${turns.agents} ELSE json_insert(${turns.agents}, '$[#]', excluded.sender) END`,
        isLong: reaches('warn'),
        pausedAt: sql`coalesce(${turns.pausedAt}, CASE WHEN ${reaches('perHour')} THEN excluded.since END)`,
      },
      setWhere: and(changesDirection(sql`excluded.sender`, sql`excluded.answered`), not(isAutomated(db))),
    }).returning({ told: sql<number>`is_long * turns`.as('told') }).toSQL()
  const countTurn = counting('conversation')
  const countNamed = counting('named', sql`changes() = 0`)

  const fields = { key: turns.key, agents: turns.agents, turns: turns.turns, since: turns.since }
  const pausedFor = db.select({ agents: turns.agents }).from(turns).where(isPausedFor(sql`${p('alias')}`)).limit(1)
    .prepare()
  const exempt = db.select({ isExempt: sql<number>`1` }).from(sql`(SELECT 1)`).where(isAutomated(db)).prepare()
  const isPaused = isNotNull(turns.pausedAt)
  const paused = db.select({ ...fields, pausedAt: sql<number>`${turns.pausedAt}` }).from(turns)
    .where(inAccount(turns, isPaused)).orderBy(desc(turns.pausedAt), turns.key).limit(maxShown).prepare()
  const pausedByKey = db.select(fields).from(turns)
    .where(inAccount(turns, eq(turns.key, p('conversation')), isPaused)).prepare()
  const untold = db.select(fields).from(turns).where(inAccount(turns, isPaused, isNull(turns.toldAt)))
    .orderBy(turns.pausedAt).limit(p('limit')).prepare()
  const long = db.select(fields).from(turns)
    .where(and(isLongSince, isNull(turns.pausedAt)))
    .orderBy(desc(turns.turns)).limit(p('limit')).prepare()
  const limits = db.select({ limits: accounts.turnLimits }).from(accounts).where(eq(accounts.id, p('account')))
    .prepare()
  const automated = db.select({ automated: agents.automated }).from(agents)
    .where(inAccount(agents, eq(agents.id, p('id')))).prepare()

  const begin = db.delete(turns)
    .where(inAccount(turns, sql`${turns.key} IN (SELECT value FROM json_each(${p('keys')}))`, isNull(turns.pausedAt)))
    .toSQL()
  const isPausedKey = inAccount(turns, eq(turns.key, p('conversation')), isPaused)
  const requirePaused = precondition(db, exists(db.select(one).from(turns).where(isPausedKey)))
  const resume = db.delete(turns).where(isPausedKey).toSQL()
  const resumeOf = db.delete(turns)
    .where(inAccount(turns, isPaused, sql`${p('alias')} IN (SELECT value FROM json_each(${turns.agents}))`)).toSQL()
  const markTold = db.update(turns).set({ toldAt: sql`${p('at')}` }).where(isPausedKey).toSQL()
  const setLimits = db.update(accounts).set({ turnLimits: sql`${p('limits')}` }).where(eq(accounts.id, p('account')))
    .toSQL()
  const setAutomated = db.update(agents).set({ automated: sql`${p('automated')}` })
    .where(inAccount(agents, eq(agents.id, p('id')), isNull(agents.deletedAt))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** The agents of a paused conversation that a message would be a turn of; undefined if there is none. */
      pausedFor: async (turn: Turn, alias: string) => (await account.one(pausedFor, { ...turn, alias }))?.agents,
      /** Whether the sender or the recipient is marked as automated. */
      isExempt: async (from: string, { agentId, home }: Partial<InboxAddress>) => {
        const values = { from, toAccount: home ?? account.accountId, to: agentId ?? null }
        return await account.one(exempt, values) !== undefined
      },
      /** The paused conversations, the newest first. */
      paused: () => account.all(paused),
      pausedByKey: (conversation: string): Promise<CountedConversation | undefined> =>
        account.one(pausedByKey, { conversation }),
      /** Pauses that the owners were not told of, the oldest first. */
      untold: (limit: number): Promise<CountedConversation[]> => account.all(untold, { limit }),
      /** Conversations whose agents are told to stop, but that go on, with the most turns first. */
      long: (since: number, limit: number): Promise<CountedConversation[]> => account.all(long, { since, limit }),
      /** The limits of the account. */
      limits: async (): Promise<TurnLimits> => ({
        ...defaultTurnLimits,
        ...(await account.one(limits))?.limits,
      }),
      /** Whether an agent is marked as automated. */
      isAutomated: async (id: string) => (await account.one(automated, { id }))?.automated ?? false,
    }),
    changes: (account: AccountBinding) => ({
      /**
       * Count a message of an agent, if it is stored: under its conversation id only if it is no turn of its pair. A
       * repeated unit counts once, because its sender is the last one. The account of the recipient counts too, because
       * its limits may be others. The rows have `told`: the turns, if the sender is to be told, or 0.
       */
      count: (
        turn: Turn,
        message: { id: string; from: string; alias: string; at: number; agents: string[] },
        to?: InboxAddress,
      ): { own: Statement[]; theirs?: Statement } => {
        const { accountId } = account
        const { home = accountId, agentId = null } = to ?? {}
        const agents = JSON.stringify(message.agents)
        const values = { ...turn, ...message, agents, countedIn: accountId, toAccount: home, to: agentId }
        const own = account.bind(countTurn, values)
        if (home !== accountId) return { own: [own], theirs: account.bind(countTurn, { ...values, countedIn: home }) }
        return { own: turn.named === null ? [own] : [own, account.bind(countNamed, values)] }
      },
      /** Begin conversations again, because a person wrote in them. Paused ones stay as they are. */
      begin: (keys: string[]) => account.bind(begin, { keys: JSON.stringify(keys) }),
      /** Fails the unit unless the conversation is paused when it runs. */
      requirePaused: (conversation: string) => account.bind(requirePaused, { conversation }),
      /** Begin a paused conversation again. */
      resume: (conversation: string) => account.bind(resume, { conversation }),
      markTold: (conversation: string, at: number) => account.bind(markTold, { conversation, at }),
      /** Store the limits that differ from the defaults; null for none. */
      setLimits: (limits: string | null) => account.bind(setLimits, { limits }),
      /** Mark an agent as automated, or not. Then its paused conversations begin again. */
      setAutomated: (id: string, alias: string, isAutomated: boolean): Statement[] => [
        account.bind(setAutomated, { id, automated: isAutomated ? 1 : 0 }),
        account.bind(resumeOf, { alias }),
      ],
    }),
  }
}
