/** Remote agents of the account: the messages of each sender to them, and what became of those that were accepted. */
import type { remoteExchanges } from '../../../db/schema.ts'
import { inboxOf, isInTime } from './inbox-message.ts'
import { hasRoom, isFree, type LineKind } from '../global/remote-lines.ts'
import { type AccountDb, query, type Statement, statement } from '../sql.ts'

export type ExchangeState = typeof remoteExchanges.$inferSelect.state

interface Line {
  dueAt: number | null
  attempts: number
  failingSince: number | null
  error: string | null
  triedAt: number | null
}

/** The line is that which has failed for the longest time. It is all null if no message fails. */
export interface RemoteAgentRow extends Omit<Line, 'attempts'> {
  attempts: number | null
  remoteUrl: string
  /** How long the answer to a message may take. */
  answerMs: number
  pausedAt: number | null
  callbackSecret: string
  card: string | null
  cardAt: number | null
  encryptedToken: string | null
  tokenIv: string | null
  tokenAuthTag: string | null
  tokenKeyId: string | null
}

export interface RemoteExchange extends Line {
  /** That of the message. */
  id: string
  conversation: string
  contextId: string | null
  taskId: string | null
  state: ExchangeState
  /** When the agent accepted or refused the message. */
  createdAt: number
  /** With which attempt that was, and when it began. */
  sends: number
  sentAt: number
}

const lineColumns = 'due_at, attempts, failing_since, error, tried_at'
const exchangeColumns = `id, conversation, context_id, task_id, state, created_at, sends, sent_at, ${lineColumns}`

/** Of each remote agent the sender whose messages have failed for the longest time: SQLite takes all columns from that row. */
export const failingLines = `SELECT agent_id, min(failing_since) AS failing_since, due_at, attempts, error, tried_at
  FROM remote_senders WHERE account_id = :account AND failing_since IS NOT NULL GROUP BY agent_id`
const byId = query<RemoteAgentRow>(`
  SELECT agents.remote_url, agents.encrypted_token, agents.token_iv, agents.token_auth_tag, agents.token_key_id,
    remote.card, remote.card_at, remote.paused_at, remote.callback_secret, remote.answer_ms, line.due_at, line.attempts,
    line.failing_since, line.error, line.tried_at
  FROM remote_agents AS remote JOIN agents ON agents.account_id = remote.account_id AND agents.id = remote.agent_id
  LEFT JOIN (${failingLines}) AS line ON line.agent_id = remote.agent_id
  WHERE remote.account_id = :account AND remote.agent_id = :agent AND agents.remote_url IS NOT NULL`)
const exchange = query<RemoteExchange>(`
  SELECT ${exchangeColumns} FROM remote_exchanges WHERE account_id = :account AND agent_id = :agent AND id = :id`)
const newest = query<RemoteExchange>(`
  SELECT ${exchangeColumns} FROM remote_exchanges
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation
  ORDER BY created_at DESC LIMIT 1`)

const joinMessages = `JOIN messages ON messages.account_id = deliveries.sender_account_id
    AND messages.id = deliveries.message_id`
const progress = query<RemoteProgress>(`
  SELECT deliveries.agent_id, deliveries.state IN ('read', 'task') AS is_read, deliveries.seq = (
      SELECT next.seq FROM deliveries AS next
      JOIN messages AS waiting ON waiting.account_id = next.sender_account_id AND waiting.id = next.message_id
      WHERE next.account_id = :account AND next.inbox = deliveries.inbox AND next.state = 'unread'
        AND (remote.in_one_order OR waiting.from_agent_id = messages.from_agent_id)
      ORDER BY next.seq LIMIT 1) AS is_next,
    line.held_by IS NOT NULL AND line.sending_id = deliveries.message_id AS is_sending,
    exchange.state, exchange.created_at AS decided_at, exchange.sends, exchange.sent_at, line.attempts,
    iif(exchange.id IS NULL, line.error, exchange.error) AS error,
    iif(exchange.id IS NULL, line.tried_at, exchange.tried_at) AS tried_at
  FROM deliveries
  ${joinMessages}
  JOIN remote_agents AS remote ON remote.account_id = :account AND remote.agent_id = deliveries.agent_id
  LEFT JOIN remote_senders AS line ON line.account_id = :account AND line.agent_id = deliveries.agent_id
    AND line.sender_id = iif(remote.in_one_order, '', messages.from_agent_id)
  LEFT JOIN remote_exchanges AS exchange ON exchange.account_id = :account
    AND exchange.agent_id = deliveries.agent_id AND exchange.id = deliveries.message_id
  WHERE deliveries.account_id = :account AND deliveries.message_id = :id`)

const isSender = 'account_id = :account AND agent_id = :agent AND sender_id = :id'
const ofEach = <T>(make: (table: string, row: string, isInbox: boolean) => T): Record<LineKind, T> => ({
  inbox: make('remote_senders', isSender, true),
  exchange: make('remote_exchanges', 'account_id = :account AND agent_id = :agent AND id = :id', false),
  push: make('task_push_configs', 'account_id = :account AND agent_id = :agent AND id = :id', false),
  webhook: make('webhooks', 'account_id = :account AND id = :id AND id = :agent', false),
})
const failures = ofEach((table, row, isInbox) =>
  query<Pick<Line, 'attempts' | 'failingSince'> & { unanswered: number }>(
    `SELECT attempts, failing_since, ${isInbox ? 'unanswered' : '0 AS unanswered'} FROM ${table} WHERE ${row}`,
  )
)
const unreadOnes = `deliveries ${joinMessages}
  WHERE deliveries.inbox = ${inboxOf()} AND deliveries.state = 'unread' AND (:id = '' OR messages.from_agent_id = :id)`
// From its hold on, a message neither expires nor can be retracted. One that may have arrived is sent again after its time.
const sending = `sending_id = (
  SELECT deliveries.message_id FROM ${unreadOnes}
    AND (${isInTime} OR deliveries.message_id = remote_senders.sending_id)
  ORDER BY deliveries.seq LIMIT 1)`
// A unit that is sent again finds its own hold.
const hold = ofEach((table, row, isInbox) =>
  statement(`
    UPDATE ${table} SET ${isInbox ? `${sending},` : ''} held_by = :hold, tried_at = :at
    WHERE ${row} AND due_at <= :at
      AND (held_by = :hold OR (${isFree} AND ${isInbox ? hasRoom(':account', ':agent') : '1'}))
    RETURNING attempts, ${isInbox ? 'sending_id' : 'NULL AS sending_id'}`)
)
const fail = ofEach((table, row, isInbox) =>
  statement(`
    UPDATE ${table} SET ${
    isInbox ? 'sending_id = iif(:isUnsent, NULL, sending_id), unanswered = unanswered + :isUnanswered,' : ''
  }
      held_by = NULL, attempts = attempts + 1, failing_since = coalesce(failing_since, :at),
      error = :error, due_at = :dueAt
    WHERE ${row} AND held_by = :hold`)
)
const isHeld = `${isSender} AND held_by = :hold`
const end = statement(`DELETE FROM remote_senders WHERE ${isHeld} AND NOT EXISTS (SELECT 1 FROM ${unreadOnes})`)
const goOn = statement(`
  UPDATE remote_senders SET held_by = NULL, sending_id = NULL, unanswered = 0, attempts = 0, failing_since = NULL,
    error = NULL, due_at = :at
  WHERE ${isHeld}`)
// What never arrived had no connection. There is one now.
const tryUnsent = statement(`
  UPDATE remote_senders SET due_at = min(due_at, :at)
  WHERE account_id = :account AND agent_id = :agent AND failing_since IS NOT NULL AND sending_id IS NULL
    AND EXISTS (SELECT 1 FROM remote_senders AS held WHERE held.account_id = :account AND held.agent_id = :agent
      AND held.sender_id = :id AND held.held_by = :hold)`)
const tryNow = statement(`
  UPDATE remote_senders SET due_at = :at WHERE account_id = :account AND agent_id = :agent`)
const pause = statement(`
  UPDATE remote_agents SET paused_at = coalesce(paused_at, :at) WHERE account_id = :account AND agent_id = :agent`)
// The time of the pause does not count as one in which the agent failed.
const tryAgain = statement(`
  UPDATE remote_senders SET attempts = 0, failing_since = NULL, error = NULL, due_at = :at
  WHERE account_id = :account AND agent_id = :agent AND EXISTS (SELECT 1 FROM remote_agents
    WHERE account_id = :account AND agent_id = :agent AND paused_at IS NOT NULL)`)
const resume = statement('UPDATE remote_agents SET paused_at = NULL WHERE account_id = :account AND agent_id = :agent')
const setOneOrder = statement(`
  UPDATE remote_agents SET in_one_order = 1 WHERE account_id = :account AND agent_id = :agent`)
const putCard = statement(`
  UPDATE remote_agents SET card = :card, card_at = :at WHERE account_id = :account AND agent_id = :agent`)
const park = statement(`
  UPDATE deliveries SET state = 'parked', read_at = :at
  WHERE account_id = :account AND agent_id = :agent AND message_id = :message AND state = 'unread'`)
// A callback that came during the look has made the exchange due again. `min` of one that ends is NULL.
const putExchange = statement(`
  INSERT INTO remote_exchanges (account_id, id, agent_id, conversation, context_id, task_id, state, created_at, sends,
    sent_at, due_at, error)
  VALUES (:account, :id, :agent, :conversation, :contextId, :taskId, :state, :at, :sends, :sentAt, :dueAt, :error)
  ON CONFLICT (account_id, agent_id, id) DO UPDATE SET context_id = excluded.context_id, task_id = excluded.task_id,
    state = excluded.state, error = excluded.error, held_by = NULL, attempts = 0, failing_since = NULL,
    due_at = iif(due_at > tried_at, min(excluded.due_at, due_at), excluded.due_at)`)
const endInput = statement(`
  UPDATE remote_exchanges SET state = 'ended'
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation AND state = 'input-required'
    AND id <> :id`)

export type NewExchange = Omit<RemoteExchange, 'createdAt' | 'attempts' | 'failingSince' | 'triedAt'>

/** How far a message is at one remote agent. `isNext`: it is the oldest unread one of its sender. */
export interface RemoteProgress {
  agentId: string
  /** 0 or 1, as the next ones. */
  isRead: number
  isNext: number
  isSending: number | null
  /** Null until the agent has accepted or refused it, at `decidedAt`, with the attempt number `sends` of `sentAt`. */
  state: ExchangeState | null
  decidedAt: number
  sends: number
  sentAt: number
  /** Failed ones in a row. */
  attempts: number | null
  error: string | null
  triedAt: number | null
}

interface Failure {
  error: string
  dueAt: number
  /** Nothing of the message can have arrived. */
  isUnsent: boolean
  /** All of it arrived, and there was no usable answer. */
  isUnanswered: boolean
}

/** A row that this process holds for one attempt. */
export interface HeldLine {
  kind: LineKind
  agent: string
  /** The id of the message of an exchange, of the sender of messages, or of the registration of a webhook. */
  id: string
  hold: string
}

export const remoteAgents = {
  reads: (account: AccountDb) => ({
    byId: (agent: string) => account.one(byId, { agent }),
    /** How far a message is at each remote agent of the account that it was sent to. */
    progress: (id: string) => account.all(progress, { id }),
    exchange: (agent: string, id: string) => account.one(exchange, { agent, id }),
    /** How often the requests of a line have failed in a row, and since when. */
    failures: ({ kind, agent, id }: HeldLine) => account.one(failures[kind], { agent, id }),
    /** The last exchange of a conversation with the agent. */
    newest: (agent: string, conversation: string) => account.one(newest, { agent, conversation }),
  }),
  changes: (account: AccountDb) => ({
    /** Returns a row if the line is due, and is now held: `attempts`, and `sending_id` of the message of an inbox. */
    hold: ({ kind, agent, id, hold: by }: HeldLine, instance: string, at: number): Statement =>
      account.bind(hold[kind], { agent, id, hold: by, instance, at }),
    failed: ({ kind, agent, id, hold }: HeldLine, failure: Failure, at: number): Statement =>
      account.bind(fail[kind], { agent, id, hold, at, ...failure }),
    /** Go on with the next unread message of the sender. To be written after the change of the message that was sent. */
    accepted: ({ agent, id, hold }: HeldLine, at: number): Statement[] => [
      account.bind(tryUnsent, { agent, id, hold, at }),
      account.bind(end, { agent, id, hold }),
      account.bind(goOn, { agent, id, hold, at }),
    ],
    tryNow: (agent: string, at: number): Statement => account.bind(tryNow, { agent, at }),
    pause: (agent: string, at: number): Statement => account.bind(pause, { agent, at }),
    resume: (agent: string, at: number): Statement[] => [
      account.bind(tryAgain, { agent, at }),
      account.bind(resume, { agent }),
    ],
    /** From now on, messages of all senders are sent in one order. */
    setOneOrder: (agent: string): Statement => account.bind(setOneOrder, { agent }),
    putCard: (agent: string, card: string, at: number): Statement => account.bind(putCard, { agent, card, at }),
    park: (agent: string, message: string, at: number): Statement => account.bind(park, { agent, message, at }),
    /** Adds or replaces the exchange of a message, and ends an earlier one of the conversation that waited for input. */
    putExchange: (agent: string, exchange: NewExchange, at: number): Statement[] => [
      account.bind(putExchange, { ...exchange, agent, at }),
      account.bind(endInput, { agent, conversation: exchange.conversation, id: exchange.id }),
    ],
  }),
}
