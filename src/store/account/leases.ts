/** Leases: messages held by a reader until they are acked or released. */
import type { Row } from '@libsql/client'
import { hour } from '../../lib/time.ts'
import { type AccountDb, query, type Statement, statement, traffic, type Values } from '../sql.ts'
import { makeInboxDue } from './deliver.ts'
import {
  agentOf,
  answerBytes,
  countedUnread,
  type InboxMessage,
  inboxMessageOf,
  inboxOf,
  isInTime,
  isOfMessage,
  selectInboxMessages,
} from './inbox-message.ts'
import { logAgents } from './log.ts'
import type { InboxAddress, NewMessage } from './new-message.ts'
import { longTurns } from './turns.ts'

export interface NewLease {
  id: string
  agent: string
  /** The id of the process that sends the messages to the reader; for a timed lease, the credential's id. */
  holder: string
  at: number
  expiresAt: number | null
  /** The idempotency key of the send that created the lease as `next`. */
  key?: string
}

interface LeaseSize {
  limit: number
  /** Maximum UTF-16 units of all messages together. A longer first message is leased alone. */
  maxChars: number
  /** Maximum bytes of all messages together in the response. A longer first message is leased alone. */
  maxBytes: number
  /** Approximate number of messages to lease, for the write queue. */
  expected: number
}

/** The unread messages that a lease takes. By default, the oldest ones. */
export type LeaseSelection = { messages: readonly string[] } | { conversation: string }

/** The steps of leasing messages, in this order. `claim` takes the messages that `lease` has recorded. */
export interface LeaseParts {
  lease: Statement
  claim: Statement
  /** Returns the leased messages as raw rows, which `read.leases.messages` decodes. */
  messages: Statement
}

/** Every fifth return of a message from a timed lease parks the message. See docs/delivery.md, "Parked messages". */
export const parkedAtReturns = 5
const maxReleases = 20
const maxWoken = 50

// The states are literals, because a condition with a parameter cannot use the partial indexes.
const inInbox = `deliveries.inbox = ${inboxOf()}`
/** Condition: the delivery to `:agent` is in `lease`. `noted` is an open lease that lists it. Both are SQL of ids. */
export const isInLease = (lease: string, noted = lease) =>
  `${inInbox} AND deliveries.seq IN (
    SELECT value FROM json_each((SELECT leases.seqs FROM leases WHERE leases.account_id = :account AND leases.id = ${noted})))
  AND deliveries.lease_id = ${lease}`
export const isLeased = isInLease(':lease')
/** Maximum number of read messages that are searched for the messages of an ended lease. */
export const endedLeaseDepth = 1_000
/** Positions of the answers in a waiting send's lease, even an ended lease. Searches the next 1,000 read messages. */
export const givenTo = (message: string) => `
  SELECT seq FROM (
    SELECT deliveries.seq, deliveries.lease_id FROM deliveries
    WHERE ${inInbox} AND deliveries.state = 'read' AND deliveries.seq > (
      SELECT asked.seq FROM messages AS asked WHERE asked.account_id = :account AND asked.id = ${message})
    ORDER BY deliveries.seq LIMIT ${endedLeaseDepth})
  WHERE lease_id = ${message}`

// An empty claim creates no lease. A retried claim finds its lease and takes nothing more.
const adding = (found: string) =>
  traffic(`
    INSERT INTO leases (account_id, agent_id, id, holder, created_at, expires_at, key, seqs)
    SELECT :account, :agent, :lease, :holder, :at, :expiresAt, :key, found.seqs FROM (${found}) AS found
    WHERE found.seqs <> '[]'
    ON CONFLICT DO NOTHING`)
const oldest = (from: string, columns: string, limit: string) => `
  SELECT ${columns} FROM deliveries
  WHERE ${from} AND deliveries.state = 'unread' AND ${isInTime} ORDER BY deliveries.seq LIMIT ${limit}`
/** Leases the oldest of these messages that fit the limits, but at least one. */
const addingMany = (from: string) =>
  adding(`
      WITH candidates AS (${oldest(from, 'deliveries.seq, deliveries.chars', ':limit')})
      SELECT json_group_array(seq) AS seqs FROM (
        SELECT seq, row_number() OVER oldest AS n, sum(chars) OVER oldest AS chars, sum(bytes) OVER oldest AS bytes
        FROM (${answerBytes}) WINDOW oldest AS (ORDER BY seq ROWS UNBOUNDED PRECEDING))
      WHERE n = 1 OR (chars <= :maxChars AND bytes <= :maxBytes)`)
const add = addingMany(inInbox)
// The first message always fits, regardless of its size.
const addOne = adding(oldest(inInbox, 'json_array(deliveries.seq) AS seqs', '1'))
// Searches by id, because the index of unread messages does not contain ids.
const addMessages = addingMany(isOfMessage('IN (SELECT value FROM json_each(:messages))'))
const addConversation = addingMany(`${inInbox} AND EXISTS (
  SELECT 1 FROM messages WHERE messages.seq = deliveries.seq AND messages.conversation_id = :conversationId)`)
const claim = traffic(`
  UPDATE deliveries SET state = 'read', lease_id = :lease, read_at = :at, woken_at = coalesce(woken_at, :wokenAt)
  WHERE ${inInbox} AND state = 'unread' AND seq IN (
    SELECT value FROM json_each((SELECT leases.seqs FROM leases WHERE leases.account_id = :account AND leases.id = :lease)))`)
const leased = statement(
  `${selectInboxMessages(isLeased, [`${countedUnread()} AS remaining`, `${longTurns} AS long_turns`])} LIMIT :limit`,
)

/** Condition: the agent of the row waits for the answer to one of its messages. */
export const isWaitingForAnswer = `EXISTS (SELECT 1 FROM leases
    WHERE leases.account_id = agents.account_id AND leases.agent_id = agents.id AND leases.awaits_answer = 1)`

// `takeAnswer` puts a message's answer into the lease with the same id. A caller that already had the answer does not
// wait again.
const awaitAnswer = traffic(`
  INSERT INTO leases (account_id, agent_id, id, holder, created_at, awaits_answer)
  SELECT account_id, from_agent_id, id, :holder, :at, 1 FROM messages
  WHERE account_id = :account AND id = :message AND from_agent_id = :agent AND NOT EXISTS (${givenTo(':message')})
  ON CONFLICT DO NOTHING`)
const noteUnread = traffic(`
  UPDATE leases SET seqs = (SELECT json_array(seq) FROM awaited_answers
    WHERE account_id = :account AND agent_id = :agent AND lease_id = :message AND state = 'unread'
    ORDER BY is_reply DESC, seq LIMIT 1)
  WHERE account_id = :account AND id = :message AND awaits_answer = 1 AND seqs IS NULL`)
const takeNoted = traffic(`
  UPDATE deliveries SET state = 'read', read_at = :at, lease_id = :message
  WHERE ${inInbox} AND state = 'unread' AND seq IN (SELECT value FROM json_each((
    SELECT leases.seqs FROM leases WHERE leases.account_id = :account AND leases.id = :message)))`)
// The oldest matching wait gets the answer.
const numberOfMessage = 'SELECT messages.seq FROM messages WHERE messages.account_id = :account AND messages.id = :id'
const noteAnswer = (which: string) =>
  traffic(`
    UPDATE leases SET seqs = json_array(awaited.seq)
    FROM (SELECT seq, lease_id FROM awaited_answers
      WHERE account_id = :toAccount AND seq = (${numberOfMessage}) AND state = 'unread' AND ${which}
      ORDER BY is_reply DESC, lease_id LIMIT 1) AS awaited
    WHERE leases.account_id = :toAccount AND leases.id = awaited.lease_id`)
const noteDirect = noteAnswer('agent_id = :to')
const notePost = noteAnswer('lease_id = :replyToMessageId')
/** Moves answers into the leases that have recorded them. `which` is a condition on the message `answer`. */
export const takeNotedAnswers = (which: string) => `
  UPDATE deliveries SET state = 'read', read_at = :at, lease_id = noted.id
  FROM (SELECT leases.id, delivered.seq, delivered.inbox
    FROM messages AS answer CROSS JOIN deliveries AS delivered CROSS JOIN leases
    WHERE answer.account_id = :account AND ${which} AND delivered.seq = answer.seq
      AND leases.account_id = delivered.account_id AND leases.agent_id = ${agentOf('delivered')}
      AND leases.awaits_answer = 1 AND leases.seqs = json_array(delivered.seq)) AS noted
  WHERE deliveries.seq = noted.seq AND deliveries.inbox = noted.inbox AND deliveries.state = 'unread'`
const takeAnswer = traffic(takeNotedAnswers('answer.id = :id'))
/** Whether a message's recipient waits for an answer from its sender. */
const waitsFor = query<{ one: number }>(`
  SELECT 1 AS one FROM leases
  JOIN messages ON messages.account_id = :account AND messages.id = leases.id
  JOIN deliveries ON deliveries.seq = messages.seq AND deliveries.inbox = ${inboxOf(':from')}
  WHERE leases.account_id = :account AND leases.agent_id = :agent AND leases.awaits_answer = 1
    AND leases.seqs IS NULL LIMIT 1`)

const logRelease = traffic(`
  INSERT INTO lease_releases (account_id, seq, inbox, n, leased_at, released_at)
  SELECT deliveries.account_id, deliveries.seq, deliveries.inbox, deliveries.release_count + 1, deliveries.read_at, :at
  FROM deliveries
  WHERE ${isLeased} AND deliveries.release_count < ${maxReleases}
  ON CONFLICT DO NOTHING`)
const parkReturned = statement(`
  UPDATE deliveries SET state = 'parked', lease_id = NULL, read_at = :at, release_count = release_count + 1
  WHERE ${isLeased}
    AND EXISTS (SELECT 1 FROM leases WHERE leases.account_id = :account AND leases.id = :lease
      AND leases.expires_at IS NOT NULL)
    AND (release_count + 1) % ${parkedAtReturns} = 0 AND ${isInTime}`)
const release = traffic(`
  UPDATE deliveries SET state = 'unread', lease_id = NULL, read_at = NULL, release_count = release_count + 1
  WHERE ${isLeased}`)
const logReleased = traffic(logAgents(`agents.account_id = :account AND agents.id = :agent
  AND EXISTS (SELECT 1 FROM deliveries WHERE ${isLeased})`))
const makeDue = traffic(makeInboxDue('remote.account_id = :account AND remote.agent_id = :agent'))
// Requires the agent to be in this account, because it may have moved to another.
const giveUp = statement(`
  INSERT INTO leases (account_id, agent_id, id, holder, created_at, expires_at)
  SELECT account_id, id, :lease, :holder, :at, :expiresAt FROM agents WHERE account_id = :account AND id = :agent
  ON CONFLICT DO NOTHING`)
const remove = traffic(`DELETE FROM leases WHERE account_id = :account AND id = :lease`)

const parkLeased = statement(`
  UPDATE deliveries SET state = 'parked', lease_id = NULL, read_at = :at
  WHERE ${isLeased} AND deliveries.seq IN (SELECT value FROM json_each(:seqs))`)
const parkUnread = statement(`
  UPDATE deliveries SET state = 'parked', read_at = :at WHERE ${inInbox} AND deliveries.state = 'unread'`)
const parkOfDeletedAgent = statement(`
  UPDATE deliveries SET state = 'parked', read_at = :at
  WHERE ${inInbox} AND deliveries.state = 'unread'
    AND EXISTS (SELECT 1 FROM agents WHERE agents.account_id = :account AND agents.id = :agent
      AND agents.deleted_at IS NOT NULL)`)
const woken = traffic(`
  UPDATE deliveries SET woken_at = :at
  WHERE ${inInbox} AND woken_at IS NULL AND seq IN (
    SELECT deliveries.seq FROM deliveries
    WHERE ${inInbox} AND deliveries.state = 'unread' AND deliveries.seq > :after AND deliveries.seq <= :upTo
    ORDER BY deliveries.seq DESC LIMIT ${maxWoken})`)

export const leases = {
  reads: (account: AccountDb) => ({
    /** Whether an agent waits for an answer to a message that it sent to `from`. */
    waitsFor: async (agent: string, from: string) => (await account.one(waitsFor, { agent, from })) !== undefined,
    /** Decodes the rows of `LeaseParts.messages`. `longTurns` are the turns of long conversations by key. */
    messages: (rows: Row[]): {
      messages: InboxMessage[]
      remaining?: number
      longTurns?: Record<string, number>
    } => ({
      messages: rows.map(inboxMessageOf),
      ...(rows.length > 0 && { remaining: Number(rows[0].remaining) }),
      ...(rows[0]?.long_turns && { longTurns: JSON.parse(String(rows[0].long_turns)) }),
    }),
  }),
  changes: (account: AccountDb) => {
    const addOf = (selection: LeaseSelection | undefined, most: number, values: Values) => {
      if (!selection) return account.bind(most === 1 ? addOne : add, values)
      return 'messages' in selection
        ? account.bind(addMessages, { ...values, messages: JSON.stringify(selection.messages) })
        : account.bind(addConversation, { ...values, conversationId: selection.conversation })
    }
    const messagesOf = (agent: string, lease: string, limit: number, at: number): Statement => ({
      ...account.bind(leased, { agent, lease, limit, since: at - hour }),
      rows: 0,
    })
    const released = (agent: string, lease: string, at: number): Statement[] => [
      { ...account.bind(logRelease, { agent, lease, at }), rows: 50 },
      { ...account.bind(parkReturned, { agent, lease, at }), rows: 1 },
      account.bind(logReleased, { agent, lease }),
      { ...account.bind(release, { agent, lease }), rows: 50 },
      { ...account.bind(parkOfDeletedAgent, { agent, at }), rows: 50 },
      account.bind(makeDue, { agent }),
      account.bind(remove, { lease }),
    ]
    return {
      /**
       * Leases the oldest unread messages that fit. The part `messages` returns them, oldest first, with the number of
       * messages that remain unread at this commit (100: 100 or more). Writes nothing if there are no unread messages.
       * `wokenAt` is when a wait for these messages ended, or null.
       */
      take: (
        lease: NewLease,
        { limit, maxChars, maxBytes, expected }: LeaseSize,
        wokenAt: number | null,
        selection?: LeaseSelection,
      ): LeaseParts => {
        const { id, agent, holder, at, expiresAt, key = null } = lease
        const values = { agent, lease: id, limit, maxChars, maxBytes, at, holder, expiresAt, key }
        const most = Math.min(limit, expected)
        return {
          lease: addOf(selection, most, values),
          claim: { ...account.bind(claim, { agent, lease: id, at, wokenAt }), rows: most },
          messages: messagesOf(agent, id, limit, at),
        }
      },
      /** Like `LeaseParts.messages`, but for an existing lease. */
      messages: messagesOf,
      ack: (lease: string) => account.bind(remove, { lease }),
      /** Starts waiting for the answer to a sent message. The answer will be in the lease that has the message's id. */
      awaitAnswer: (agent: string, message: string, holder: string, at: number): Statement =>
        account.bind(awaitAnswer, { agent, message, holder, at }),
      /** Waits again for the answer, even if the answer is already in the inbox. */
      awaitAgain: (agent: string, message: string, holder: string, at: number): Statement[] => [
        account.bind(awaitAnswer, { agent, message, holder, at }),
        account.bind(noteUnread, { agent, message }),
        account.bind(takeNoted, { agent, message, at }),
      ],
      /**
       * After the delivery of a message to `to` or to a channel, moves it from the inbox to the oldest wait that it
       * answers. A post is an answer only if it is a reply.
       */
      takeAnswer: (
        { id, at, replyToMessageId }: Pick<NewMessage, 'id' | 'at' | 'replyToMessageId'>,
        to?: InboxAddress,
      ): Statement[] => {
        const values = { id, toAccount: to?.home ?? account.accountId }
        const take = account.bind(takeAnswer, { id, at })
        if (to) return [account.bind(noteDirect, { ...values, to: to.agentId }), take]
        return replyToMessageId === null ? [] : [account.bind(notePost, { ...values, replyToMessageId }), take]
      },
      /** Makes the messages unread again, or parks them. Does nothing once the lease was acked or released. */
      release: released,
      /** Releases a lease that may not exist. Leaves an empty lease with its id, so that a late claim takes nothing. */
      giveUp: ({ id, agent, holder, at, expiresAt }: NewLease): Statement[] => [
        ...released(agent, id, at),
        account.bind(giveUp, { agent, lease: id, holder, at, expiresAt }),
      ],
      parkLeased: (agent: string, lease: string, seqs: number[], at: number) =>
        account.bind(parkLeased, { agent, lease, seqs: JSON.stringify(seqs), at }),
      parkUnread: (agent: string, at: number) => account.bind(parkUnread, { agent, at }),
      /** Records that the agent was notified of its unread messages after the position `after`, up to `upTo`. */
      woken: (agent: string, after: number, upTo: number, at: number) =>
        account.bind(woken, { agent, after, upTo, at }),
    }
  },
}

const maxRequeued = 500

// A literal, because a condition with a parameter cannot use the partial index.
const isParked = `deliveries.account_id = :account AND deliveries.state = 'parked'`
const isOne = `deliveries.inbox = ${inboxOf()} AND (:message IS NULL OR (${isOfMessage('= :message')}))`

interface ParkedMessage {
  id: string
  alias: string
  fromAlias: string | null
  storedAt: number
  parkedAt: number
  returns: number
}

// Only the recipient sees the name of a sender from another account.
const list = query<ParkedMessage>(`
  SELECT messages.id, agents.alias, iif(messages.account_id = :account, messages.from_alias, NULL) AS from_alias,
    deliveries.created_at AS stored_at, deliveries.read_at AS parked_at, deliveries.release_count AS returns
  FROM deliveries
  JOIN agents ON agents.account_id = deliveries.account_id AND agents.id = ${agentOf()} AND agents.deleted_at IS NULL
  JOIN messages ON messages.seq = deliveries.seq
  WHERE ${isParked}
  ORDER BY deliveries.read_at DESC LIMIT :limit`)
const ofAgent = query<{ n: number }>(`SELECT count(*) AS n FROM deliveries WHERE ${isParked} AND ${isOne}`)
const requeue = statement(`
  UPDATE deliveries SET state = 'unread', lease_id = NULL, read_at = NULL
  WHERE deliveries.inbox = ${inboxOf()} AND deliveries.seq IN (
    SELECT deliveries.seq FROM deliveries WHERE ${isParked} AND ${isOne} ORDER BY deliveries.seq LIMIT ${maxRequeued})
  RETURNING seq`)

const logRequeued = statement(logAgents('agents.account_id = :account AND agents.id = :agent'))

export const parked = {
  reads: (account: AccountDb) => ({
    /** Parked messages of live agents, most recently parked first. `fromAlias` is null if the sender is external. */
    list: (limit: number) => account.all(list, { limit }),
    /** An agent's number of parked messages, or 1 if the message with this id is parked. */
    count: async (agent: string, message: string | null = null) => (await account.one(ofAgent, { agent, message }))!.n,
  }),
  changes: (account: AccountDb) => ({
    /**
     * Makes an agent's parked messages unread (at most 500), or only the message with this id. The first statement
     * returns a row for each.
     */
    requeue: (agent: string, message: string | null): Statement[] => [
      { ...account.bind(requeue, { agent, message }), rows: maxRequeued },
      account.bind(logRequeued, { agent }),
      account.bind(makeDue, { agent }),
    ],
  }),
}
