/** The account's threads and their messages, for its people. */
import { inboxOf } from './inbox-message.ts'
import { type AccountDb, query, type Statement, statement } from '../sql.ts'
import { joinChanged, ofMessage } from './thread-messages.ts'

const previewLength = 200
const maxUnread = 1_000

/**
 * A thread as stored. `agents` is JSON of its first agents of this account, `preview` the beginning of its newest
 * message.
 */
export interface StoredThread {
  id: number
  kind: 'channel' | 'conversation' | 'pair'
  key: string
  lastSeq: number
  lastAt: number
  messages: number
  channel: string | null
  deletedAt: number | null
  agents: string
  preview: string | null
  seenSeq: number
}

/** `alias` belongs to a live agent; `isOfUser`: only threads of the user's person alias. */
interface ThreadSelection {
  agentId?: string
  alias?: string
  isOfUser?: boolean
  isWaiting?: boolean
}

const previewOf = (body: string) =>
  `json_object('fromAlias', m.from_alias, 'fromAgentId', m.from_agent_id, 'type', m.type,
    'recipient', m.recipient, 'text', substr(${body}, 1, ${previewLength}))`
const columns = `threads.id, threads.kind, threads.key, threads.last_seq, threads.last_at, threads.messages,
  channels.name AS channel, channels.deleted_at,
  (SELECT json_group_array(json_object('id', one.id, 'alias', one.alias, 'isDeleted', one.is_deleted,
    'isMoved', one.is_moved, 'isHook', one.is_hook)) FROM (
    SELECT agents.id, agents.alias, agents.deleted_at IS NOT NULL AS is_deleted, agents.type = 'hook' AS is_hook,
      agents.moved_to IS NOT NULL AS is_moved
    FROM thread_agents
    JOIN agents ON agents.account_id = thread_agents.account_id AND agents.id = thread_agents.agent_id
    WHERE thread_agents.account_id = :account AND thread_agents.thread_id = threads.id LIMIT 3) AS one) AS agents,
  ${
  ofMessage(
    'threads.last_seq',
    previewOf('coalesce(changed.body, m.body)'),
    previewOf('coalesce(d.body, m.body)'),
    joinChanged('m'),
  )
} AS preview,
  coalesce((SELECT thread_seen.seq FROM thread_seen WHERE thread_seen.account_id = :account
    AND thread_seen.user_id = :user AND thread_seen.thread_id = threads.id), 0) AS seen_seq`
const joinChannel = `LEFT JOIN channels ON channels.account_id = threads.account_id AND channels.id = threads.key
  AND threads.kind = 'channel'`
// Checked thread by thread, newest first, so the scan ends soon if a name is in many threads. SQLite looks up the
// name's agents and channels once.
const isNamedBy = (name: string) =>
  `(${name} = ''
  OR (threads.kind = 'channel' AND threads.key IN (
    SELECT channels.id FROM channels WHERE channels.account_id = :account AND instr(channels.name, ${name}) > 0))
  OR EXISTS (SELECT 1 FROM thread_agents WHERE thread_agents.account_id = :account
    AND thread_agents.thread_id = threads.id AND thread_agents.agent_id IN (
      SELECT agents.id FROM agents WHERE agents.account_id = :account AND instr(agents.alias, ${name}) > 0)))`
const isNamed = `${isNamedBy(':name')} AND ${isNamedBy(':otherName')}`
const isListed = `threads.account_id = :account AND threads.last_seq > 0 AND threads.last_seq < :before
  AND threads.last_at >= :since AND (:isChannel = 0 OR threads.kind = 'channel') AND ${isNamed}`

/** A list of the threads that `chosen` selects as `thread_id`. Only the displayed page's details are looked up. */
const list = (chosen?: string) =>
  query<StoredThread>(`
    SELECT ${columns} FROM (
      SELECT threads.id FROM ${chosen ? `(${chosen}) AS chosen CROSS JOIN threads` : 'threads'}
      WHERE ${isListed} ${chosen ? 'AND threads.id = chosen.thread_id' : ''}
      ORDER BY threads.last_seq DESC LIMIT :limit) AS page
    CROSS JOIN threads ${joinChannel}
    WHERE threads.account_id = :account AND threads.id = page.id
    ORDER BY threads.last_seq DESC`)

const personOf =
  '(SELECT person_aliases.agent_id FROM person_aliases WHERE person_aliases.account_id = :account AND person_aliases.user_id = :user)'
const agentByAlias = `(SELECT agents.id FROM agents
  WHERE agents.account_id = :account AND agents.alias = :alias AND agents.deleted_at IS NULL)`
const ofAgent = (agent: string) => `
  SELECT thread_agents.thread_id FROM thread_agents
  WHERE thread_agents.account_id = :account AND thread_agents.agent_id = ${agent}
  UNION SELECT threads.id AS thread_id FROM channel_members
  JOIN threads ON threads.account_id = channel_members.account_id AND threads.kind = 'channel'
    AND threads.key = channel_members.channel_id
  WHERE channel_members.account_id = :account AND channel_members.agent_id = ${agent}`
// An inbox is read in order. So a thread waits for an agent if its newest delivery to the agent is unread and is not
// older than the oldest unread delivery.
const waiting = (condition: string) => `
  WITH every AS MATERIALIZED (
    SELECT agent_numbers.n, agent_numbers.agent_id, (SELECT min(deliveries.seq) FROM deliveries
      WHERE deliveries.inbox = agent_numbers.n AND deliveries.state = 'unread') AS oldest
    FROM agent_numbers WHERE agent_numbers.account_id = :account AND ${condition}),
  inbox AS MATERIALIZED (SELECT * FROM every WHERE oldest IS NOT NULL)
  SELECT thread_agents.thread_id FROM inbox
  CROSS JOIN thread_agents ON thread_agents.agent_id = inbox.agent_id
  CROSS JOIN deliveries ON deliveries.seq = thread_agents.delivery_seq AND deliveries.inbox = inbox.n
  WHERE thread_agents.account_id = :account AND deliveries.account_id = :account
    AND thread_agents.delivery_seq >= inbox.oldest AND deliveries.state = 'unread'
  UNION SELECT threads.id FROM inbox
  CROSS JOIN channel_members ON channel_members.agent_id = inbox.agent_id
  CROSS JOIN threads ON threads.account_id = channel_members.account_id AND threads.kind = 'channel'
    AND threads.key = channel_members.channel_id
  CROSS JOIN messages ON messages.account_id = threads.account_id AND messages.seq = threads.last_seq
  CROSS JOIN deliveries ON deliveries.seq = messages.seq
    AND deliveries.account_id = messages.account_id AND deliveries.inbox = inbox.n
  WHERE channel_members.account_id = :account AND deliveries.state = 'unread'`
const lists = {
  all: list(),
  ofAgent: list(ofAgent(':agent')),
  ofAlias: list(ofAgent(agentByAlias)),
  ofUser: list(ofAgent(personOf)),
  waiting: list(waiting('1')),
  waitingForAgent: list(waiting('agent_numbers.agent_id = :agent')),
}
const byId = query<StoredThread>(`
  SELECT ${columns} FROM threads ${joinChannel} WHERE threads.account_id = :account AND threads.id = :thread`)
const byKey = query<StoredThread>(`
  SELECT ${columns} FROM threads ${joinChannel}
  WHERE threads.account_id = :account AND threads.kind = :kind AND threads.key = :key`)
const userIn = query<{ one: number }>(
  `SELECT 1 AS one FROM (${ofAgent(personOf)}) AS part WHERE part.thread_id = :thread LIMIT 1`,
)

// The oldest unread messages of an inbox, each with its thread.
const unreadPlaces = (inbox: string) =>
  `(
    SELECT deliveries.seq FROM deliveries
    WHERE deliveries.inbox = ${inbox} AND deliveries.account_id = :account AND deliveries.state = 'unread'
    ORDER BY deliveries.seq LIMIT ${maxUnread}) AS waits
  CROSS JOIN thread_messages
  WHERE thread_messages.account_id = :account AND thread_messages.seq = waits.seq`
const unreadOf = (inbox: string) =>
  query<{ threadId: number; unread: number; firstSeq: number }>(`
    SELECT thread_messages.thread_id, count(*) AS unread, min(thread_messages.seq) AS first_seq
    FROM ${unreadPlaces(inbox)}
    GROUP BY thread_messages.thread_id`)
const unreadInThread = query<{ id: string; seq: number }>(`
  SELECT messages.id, messages.seq FROM (
    SELECT waits.seq FROM ${unreadPlaces(inboxOf())} AND thread_messages.thread_id = :thread) AS place
  CROSS JOIN messages WHERE messages.seq = place.seq
  ORDER BY messages.seq`)
const unreadOfPersonAlias = unreadOf(
  inboxOf(personOf),
)

const add = statement(`
  INSERT INTO thread_seen (account_id, user_id, thread_id, seq)
  SELECT account_id, :user, id, :seq FROM threads WHERE account_id = :account AND id = :thread
  ON CONFLICT (account_id, user_id, thread_id) DO UPDATE SET seq = excluded.seq`)
const ofUser = [
  statement(`DELETE FROM thread_seen WHERE account_id = :account AND user_id = :user`),
  statement(`DELETE FROM snoozes WHERE account_id = :account AND user_id = :user`),
]

export const threads = {
  reads: (account: AccountDb) => ({
    list: (
      { agentId, alias, isOfUser, isWaiting }: ThreadSelection,
      { user, names: [name = '', otherName = ''], before, since, isChannel, limit }: {
        user: string
        /** Only threads in which the names match an agent's alias or the channel's name. */
        names: readonly string[]
        before: number
        since: number
        isChannel: boolean
        limit: number
      },
    ): Promise<StoredThread[]> => {
      const values = { user, name, otherName, before, since, isChannel, limit }
      if (isOfUser) return account.all(lists.ofUser, values)
      if (alias !== undefined) return account.all(lists.ofAlias, { ...values, alias })
      if (agentId === undefined) return account.all(isWaiting ? lists.waiting : lists.all, values)
      return account.all(isWaiting ? lists.waitingForAgent : lists.ofAgent, { ...values, agent: agentId })
    },
    byId: (thread: number, user: string): Promise<StoredThread | undefined> => account.one(byId, { thread, user }),
    byKey: (of: Pick<StoredThread, 'kind' | 'key'>, user: string): Promise<StoredThread | undefined> =>
      account.one(byKey, { ...of, user }),
    /** Whether a user's person alias takes part in the thread. */
    hasUser: async (thread: number, user: string) => (await account.one(userIn, { thread, user })) !== undefined,
    /** Threads in which a user's person alias has unread messages, with their number. Counts at most 1,000 messages. */
    unreadOfPersonAlias: (user: string) => account.all(unreadOfPersonAlias, { user }),
    /** The thread's messages among an agent's 1,000 oldest unread messages, oldest first. */
    unreadInThread: (thread: number, agent: string) => account.all(unreadInThread, { thread, agent }),
  }),
  changes: (account: AccountDb) => ({
    /** Records up to which message a user has seen a thread. Does nothing if the account has no such thread. */
    setSeen: (user: string, thread: number, seq: number): Statement => account.bind(add, { user, thread, seq }),
    forgetUser: (user: string): Statement[] => ofUser.map((statement) => account.bind(statement, { user })),
  }),
}
