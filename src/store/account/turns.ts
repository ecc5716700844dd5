/**
 * Turns: how often the last sender of a conversation changed. See docs/conversations.md, "Conversations that run away".
 */
import {
  type AccountDb,
  boolean,
  crossAccountQuery,
  json,
  precondition,
  query,
  type Statement,
  statement,
  traffic,
} from '../sql.ts'
import { isOfMessage } from './inbox-message.ts'
import type { InboxAddress } from './new-message.ts'
import { ofMessage } from './thread-messages.ts'

/** The account's conversation limits. 0: no limit. */
export interface TurnLimits {
  warn: number
  perHour: number
  /** A message at the end of a longer chain of answers is refused. */
  hops: number
}

export const defaultTurnLimits: TurnLimits = { warn: 30, perHour: 200, hops: 64 }

export interface Turn {
  id: string
  from: string
  alias: string
  /** The message of another agent that it replies to, or null. */
  answered: string | null
  at: number
}

/** A turn between two channel members, as counted. */
export interface MemberTurn {
  key: string
  agents: string[]
  turns: number
  /** The number of turns if the sender is to be notified, otherwise 0. */
  notifyTurns: number
}

export interface Conversation {
  key: string
  sender: string
  answered: string | null
  agents: string[]
  pausedAt: number | null
}

/** A conversation as counted. Agents are aliases without `@`; times are milliseconds since the epoch. */
export interface CountedConversation {
  /** The key under which the conversation is counted. It stays the same while the conversation continues. */
  key: string
  agents: string[]
  turns: number
  since: number
}

const maxShown = 50

const limitIn = (limit: keyof TurnLimits) =>
  `coalesce(accounts.turn_limits ->> '$.${limit}', ${defaultTurnLimits[limit]})`

const isAutomatedAgent = (account: string, agent: string) =>
  `EXISTS (SELECT 1 FROM agents WHERE agents.account_id = ${account} AND agents.id = ${agent} AND agents.automated = 1)`
const isAutomated = `(${isAutomatedAgent(':account', ':from')} OR ${isAutomatedAgent(':toAccount', ':to')})`

/** Condition: the conversation's agents are notified, and its current hour has not ended. */
// A literal instead of a parameter, because only then may the planner use the partial index.
const isLongSince =
  `conversation_turns.account_id = :account AND conversation_turns.is_long = 1 AND conversation_turns.since > :since`

/** The account's conversations whose agents are to be notified, as JSON of their turns by key; null without any. */
export const longTurns = `(SELECT nullif(json_group_object(conversation_turns.key, conversation_turns.turns), '{}')
  FROM conversation_turns WHERE ${isLongSince})`

const ifStored = `EXISTS (SELECT 1 FROM messages WHERE messages.account_id = :account AND messages.id = :id)`
const isOver = 'conversation_turns.since <= excluded.since - 3600000'
const turnsNow = `CASE WHEN ${isOver} THEN 1 ELSE conversation_turns.turns + 1 END`
const reaches = (limit: keyof TurnLimits) =>
  `(SELECT ${limitIn(limit)} BETWEEN 1 AND ${turnsNow} FROM accounts WHERE accounts.id = excluded.account_id)`
const count = traffic(`
  INSERT INTO conversation_turns (account_id, key, sender, answered, turns, since, agents, is_long)
  SELECT :countedIn, :key, :alias, :answered, 0, :at, :agents, 0
  WHERE ${ifStored}
  ON CONFLICT (account_id, key) DO UPDATE SET
    sender = excluded.sender,
    answered = coalesce(excluded.answered, conversation_turns.answered),
    turns = ${turnsNow},
    since = CASE WHEN ${isOver} THEN excluded.since ELSE conversation_turns.since END,
    agents = CASE WHEN json_array_length(conversation_turns.agents) = 16
        OR excluded.sender IN (SELECT value FROM json_each(conversation_turns.agents))
      THEN conversation_turns.agents ELSE json_insert(conversation_turns.agents, '$[#]', excluded.sender) END,
    is_long = ${reaches('warn')},
    paused_at = coalesce(conversation_turns.paused_at, CASE WHEN ${reaches('perHour')} THEN excluded.since END)
  WHERE (conversation_turns.sender <> excluded.sender
      OR excluded.answered <> coalesce(conversation_turns.answered, '')) AND NOT ${isAutomated}
  RETURNING is_long * turns AS notify_turns`)

// A channel's row stores its last sender, and who is paused there. Turns are counted for two members: the sender and
// the member it answers, or otherwise the last sender.
const countMembers = traffic(`
  INSERT INTO conversation_turns (account_id, key, sender, turns, since, agents, is_long)
  SELECT :account, :key || ' @' || min(:alias, partner) || ' @' || max(:alias, partner), :alias, 1, :at,
    json_array(min(:alias, partner), max(:alias, partner)), 0
  FROM (
    SELECT coalesce(:answeredFrom, last.sender) AS partner FROM conversation_turns AS last
    WHERE last.account_id = :account AND last.key = :key
      AND (last.sender <> :alias OR :answered <> coalesce(last.answered, '')))
  WHERE partner <> :alias AND ${ifStored} AND NOT ${isAutomatedAgent(':account', ':from')}
  ON CONFLICT (account_id, key) DO UPDATE SET
    sender = excluded.sender,
    turns = ${turnsNow},
    since = CASE WHEN ${isOver} THEN excluded.since ELSE conversation_turns.since END,
    is_long = ${reaches('warn')}
  RETURNING key, agents, turns, is_long * turns AS notify_turns`)
const markLast = traffic(`
  INSERT INTO conversation_turns (account_id, key, sender, answered, turns, since, agents)
  SELECT :account, :key, :alias, :answered, 0, :at, '[]'
  WHERE ${ifStored} AND NOT ${isAutomatedAgent(':account', ':from')}
  ON CONFLICT (account_id, key) DO UPDATE SET
    sender = excluded.sender,
    answered = coalesce(excluded.answered, conversation_turns.answered),
    since = iif(conversation_turns.paused_at IS NULL, excluded.since, conversation_turns.since)`)
const membersOf = (channel: string) => `account_id = :account AND key > ${channel} || ' ' AND key < ${channel} || '!'`
const members = query<{ agents: string[]; turns: number; since: number }>(
  `SELECT agents, turns, since FROM conversation_turns WHERE ${
    membersOf(':conversation')
  } AND since > :since AND turns > :above`,
  { agents: json },
)
const pauseMembers = statement(`
  INSERT INTO conversation_turns (account_id, key, sender, turns, since, agents, paused_at)
  SELECT account_id, :conversation, sender, :turns, :since, :agents, :at FROM conversation_turns
  WHERE account_id = :account AND key = :key AND turns >= :counted
  ON CONFLICT (account_id, key) DO UPDATE SET
    turns = excluded.turns,
    since = excluded.since,
    agents = iif(conversation_turns.paused_at IS NULL, excluded.agents, (
      SELECT json_group_array(value) FROM (
        SELECT value FROM json_each(conversation_turns.agents) UNION SELECT value FROM json_each(excluded.agents)))),
    paused_at = excluded.paused_at,
    notified_at = NULL`)
const forgetMembers = statement(`
  DELETE FROM conversation_turns
  WHERE ${membersOf(':conversation')} AND agents ->> 0 IN (SELECT value FROM json_each(:agents))
    AND agents ->> 1 IN (SELECT value FROM json_each(:agents))`)

const keyed = (keys: string) =>
  query<Conversation>(
    `SELECT key, sender, answered, agents, paused_at FROM conversation_turns
    WHERE account_id = :account AND key IN (${keys})`,
    { agents: json },
  )
const of = keyed(':key, :named')
const ofReply = keyed(`:key,
  (SELECT 'id ' || messages.conversation_id FROM messages WHERE messages.account_id = :account AND messages.id = :id),
  (SELECT 'id ' || messages.conversation_id FROM deliveries JOIN messages ON messages.seq = deliveries.seq
    WHERE ${isOfMessage()})`)
const columns = 'conversation_turns.key, conversation_turns.agents, conversation_turns.turns, conversation_turns.since'
const exempt = crossAccountQuery<{ isExempt: number }>(
  'whether a sender or recipient is automated',
  `SELECT 1 AS is_exempt WHERE ${isAutomated}`,
)
const listOf = (rest: string) =>
  query<CountedConversation>(
    `SELECT ${columns} FROM conversation_turns WHERE conversation_turns.account_id = :account AND ${rest}`,
    { agents: json },
  )

const channelName = `substr(conversation_turns.key, 2, instr(conversation_turns.key || ' ', ' ') - 2)`
const here = (table: string) => `${table}.account_id = conversation_turns.account_id`
const keyEnds = `(conversation_turns.agents ->> 0, conversation_turns.agents ->> 1)`
const namesBoth =
  `conversation_turns.key IN ('@' || m.from_alias || ' ' || m.recipient, m.recipient || ' @' || m.from_alias)`
// Several threads between two agents share the same turns; the newest thread is used. Another account's agent is
// identified by the newest message.
const threadOf = `CASE
  WHEN conversation_turns.key LIKE '#%' THEN (
    SELECT threads.id FROM channels JOIN threads ON ${here('threads')} AND threads.kind = 'channel'
      AND threads.key = channels.id
    WHERE ${here('channels')} AND channels.name = ${channelName} AND channels.deleted_at IS NULL)
  WHEN conversation_turns.key LIKE 'id %' THEN (
    SELECT threads.id FROM threads
    WHERE ${
  here('threads')
} AND threads.kind = 'conversation' AND threads.key = '/' || substr(conversation_turns.key, 4))
  ELSE (
    SELECT threads.id FROM agents AS one
    CROSS JOIN thread_agents AS part ON ${here('part')} AND part.agent_id = one.id
    CROSS JOIN threads ON ${here('threads')} AND threads.id = part.thread_id
    LEFT JOIN agents AS other ON ${here('other')} AND other.alias IN ${keyEnds} AND other.id <> one.id
      AND other.deleted_at IS NULL
    WHERE ${here('one')} AND one.alias IN ${keyEnds} AND one.deleted_at IS NULL
      AND iif(other.id IS NULL, ${ofMessage('threads.last_seq', namesBoth)}, EXISTS (
        SELECT 1 FROM thread_agents AS its
        WHERE ${here('its')} AND its.agent_id = other.id AND its.thread_id = threads.id))
    ORDER BY threads.last_seq DESC LIMIT 1) END`

/** `threadId`: the thread with its messages; null if they were removed. */
export type PlacedConversation = CountedConversation & { threadId: number | null }

const paused = query<PlacedConversation & { pausedAt: number }>(
  `
  SELECT ${columns}, conversation_turns.paused_at, ${threadOf} AS thread_id FROM conversation_turns
  WHERE conversation_turns.account_id = :account AND conversation_turns.paused_at IS NOT NULL
  ORDER BY conversation_turns.paused_at DESC, conversation_turns.key LIMIT ${maxShown}`,
  { agents: json },
)
const pausedByKey = listOf('conversation_turns.key = :conversation AND conversation_turns.paused_at IS NOT NULL')
const unnotified = listOf(
  'conversation_turns.paused_at IS NOT NULL AND conversation_turns.notified_at IS NULL ORDER BY conversation_turns.paused_at LIMIT :limit',
)
const long = query<PlacedConversation>(
  `
  SELECT ${columns}, ${threadOf} AS thread_id FROM conversation_turns
  WHERE ${isLongSince} AND conversation_turns.paused_at IS NULL
  ORDER BY conversation_turns.turns DESC LIMIT :limit`,
  { agents: json },
)
const limits = query<{ limits: Partial<TurnLimits> | null }>(
  'SELECT turn_limits AS limits FROM accounts WHERE id = :account',
  { limits: json },
)
const automated = query<{ automated: boolean }>(
  'SELECT automated FROM agents WHERE account_id = :account AND id = :id',
  { automated: boolean },
)

const begin = statement(`
  DELETE FROM conversation_turns
  WHERE account_id = :account AND key IN (SELECT value FROM json_each(:keys)) AND paused_at IS NULL`)
const beginMembers = statement(`DELETE FROM conversation_turns WHERE ${membersOf(':conversation')}`)
const isPaused = 'account_id = :account AND key = :conversation AND paused_at IS NOT NULL'
const requirePaused = precondition(`EXISTS (SELECT 1 FROM conversation_turns WHERE ${isPaused})`)
const resume = statement(`DELETE FROM conversation_turns WHERE ${isPaused}`)
const resumeOf = statement(`
  DELETE FROM conversation_turns
  WHERE account_id = :account AND paused_at IS NOT NULL AND :alias IN (SELECT value FROM json_each(agents))`)
const markNotified = statement(`UPDATE conversation_turns SET notified_at = :at WHERE ${isPaused}`)
const setLimits = statement('UPDATE accounts SET turn_limits = :limits WHERE id = :account')
const setAutomated = statement(`
  UPDATE agents SET automated = :automated WHERE account_id = :account AND id = :id AND deleted_at IS NULL`)

export const turns = {
  reads: (account: AccountDb) => ({
    /** The counts for a message's pair or channel (`key`) and for its conversation id (`named`), if it has one. */
    of: (key: string, named: string | null) => account.all(of, { key, named }),
    /** The counts for the agent's reply to the message `id`, in that message's conversation. */
    ofReply: (key: string, agent: string, id: string) => account.all(ofReply, { key, agent, id }),
    isExempt: async (from: string, { agentId, home }: Partial<InboxAddress>) => {
      const values = { from, toAccount: home ?? account.accountId, to: agentId ?? null }
      return await account.one(exempt, values) !== undefined
    },
    paused: () => account.all(paused),
    pausedByKey: (conversation: string): Promise<CountedConversation | undefined> =>
      account.one(pausedByKey, { conversation }),
    /** Pauses of which the owners have not been notified, oldest first. */
    unnotified: (limit: number): Promise<CountedConversation[]> => account.all(unnotified, { limit }),
    /** Pairs of channel members with more than `above` turns in this hour. */
    members: (channel: string, since: number, above: number) =>
      account.all(members, { conversation: channel, since, above }),
    /** Conversations whose agents are asked to stop but continue, most turns first. */
    long: (since: number, limit: number) => account.all(long, { since, limit }),
    limits: async (): Promise<TurnLimits> => ({
      ...defaultTurnLimits,
      ...(await account.one(limits))?.limits,
    }),
    isAutomated: async (id: string) => (await account.one(automated, { id }))?.automated ?? false,
  }),
  changes: (account: AccountDb) => ({
    /**
     * Counts an agent's message if it is stored and changes the conversation's direction. A retried unit counts once,
     * because its sender is already the last one. Returns `notify_turns`: the turns if the sender is to be notified,
     * otherwise 0.
     */
    count: (key: string, agents: string[], turn: Turn, to?: InboxAddress): Statement =>
      account.bind(count, {
        ...turn,
        key,
        agents: JSON.stringify(agents),
        countedIn: account.accountId,
        toAccount: to?.home ?? account.accountId,
        to: to?.agentId ?? null,
      }),
    /** Like `count`, but in the recipient's account, whose limits may differ. */
    countThere: (
      key: string,
      agents: string[],
      turn: Turn,
      { agentId, home }: Required<Pick<InboxAddress, 'agentId' | 'home'>>,
    ): Statement =>
      account.bind(count, {
        ...turn,
        key,
        agents: JSON.stringify(agents),
        countedIn: home,
        toAccount: home,
        to: agentId,
      }),
    /**
     * Counts a channel post, for its sender and the member that it answers. The first statement returns one row, a
     * `MemberTurn`, if the post is a turn.
     */
    countMembers: (key: string, answeredFrom: string | null, { id, from, alias, answered, at }: Turn): Statement[] => [
      account.bind(countMembers, { key, answeredFrom, id, from, alias, answered, at }),
      account.bind(markLast, { key, id, from, alias, answered, at }),
    ],
    /** Pauses channel members, unless the count of `last`, which caused the pause, has been reset. */
    pauseMembers: (
      channel: string,
      { agents, turns, since, last, at }: {
        agents: string[]
        turns: number
        since: number
        last: Pick<MemberTurn, 'key' | 'turns'>
        at: number
      },
    ): Statement[] => {
      const paused = { conversation: channel, agents: JSON.stringify(agents) }
      return [
        account.bind(pauseMembers, { ...paused, turns, since, key: last.key, counted: last.turns, at }),
        account.bind(forgetMembers, paused),
      ]
    },
    /** Resets the counts of channel members. */
    beginMembers: (channel: string) => account.bind(beginMembers, { conversation: channel }),
    /** Resets conversations in which a person wrote. Paused conversations stay paused. */
    begin: (keys: string[]) => account.bind(begin, { keys: JSON.stringify(keys) }),
    requirePaused: (conversation: string) => account.bind(requirePaused, { conversation }),
    resume: (conversation: string) => account.bind(resume, { conversation }),
    markNotified: (conversation: string, at: number) => account.bind(markNotified, { conversation, at }),
    /** Stores the limits that differ from the defaults; null for none. */
    setLimits: (limits: string | null) => account.bind(setLimits, { limits }),
    setAutomated: (id: string, alias: string, isAutomated: boolean): Statement[] => [
      account.bind(setAutomated, { id, automated: isAutomated }),
      account.bind(resumeOf, { alias }),
    ],
  }),
}
