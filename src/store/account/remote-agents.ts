/** Remote agents of the account: the line of messages to each, and what became of those that were accepted. */
import type { remoteExchanges } from '../../../db/schema.ts'
import { inboxOf, isInTime } from './inbox-message.ts'
import { isFree, type LineKind } from '../global/remote-lines.ts'
import { type AccountDb, query, type Statement, statement } from '../sql.ts'

export type ExchangeState = typeof remoteExchanges.$inferSelect.state

interface Line {
  dueAt: number | null
  attempts: number
  failingSince: number | null
  error: string | null
  triedAt: number | null
}

export interface RemoteAgentRow extends Line {
  remoteUrl: string
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
  createdAt: number
  /** With which attempt the agent accepted or refused it. */
  sends: number
  callbackHash: string | null
}

const lineColumns = 'due_at, attempts, failing_since, error, tried_at'
const exchangeColumns = `id, conversation, context_id, task_id, state, created_at, sends, callback_hash, ${lineColumns}`

const byId = query<RemoteAgentRow>(`
  SELECT agents.remote_url, agents.encrypted_token, agents.token_iv, agents.token_auth_tag, agents.token_key_id,
    remote.card, remote.card_at, remote.paused_at, remote.callback_secret, remote.due_at, remote.attempts,
    remote.failing_since, remote.error, remote.tried_at
  FROM remote_agents AS remote JOIN agents ON agents.account_id = remote.account_id AND agents.id = remote.agent_id
  WHERE remote.account_id = :account AND remote.agent_id = :agent AND agents.remote_url IS NOT NULL`)
const exchange = query<RemoteExchange>(`
  SELECT ${exchangeColumns} FROM remote_exchanges WHERE account_id = :account AND agent_id = :agent AND id = :id`)
const newest = query<RemoteExchange>(`
  SELECT ${exchangeColumns} FROM remote_exchanges
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation
  ORDER BY created_at DESC LIMIT 1`)

const progress = query<RemoteProgress>(`
  SELECT deliveries.agent_id, deliveries.state IN ('read', 'task') AS is_read, deliveries.seq = (
      SELECT next.seq FROM deliveries AS next WHERE next.account_id = :account
        AND next.inbox = deliveries.inbox AND next.state = 'unread'
      ORDER BY next.seq LIMIT 1) AS is_next,
    exchange.state, exchange.created_at AS decided_at, exchange.sends, line.attempts,
    iif(exchange.id IS NULL, line.error, exchange.error) AS error,
    iif(exchange.id IS NULL, line.tried_at, exchange.tried_at) AS tried_at
  FROM deliveries
  JOIN remote_agents AS line ON line.account_id = :account AND line.agent_id = deliveries.agent_id
  LEFT JOIN remote_exchanges AS exchange ON exchange.account_id = :account
    AND exchange.agent_id = deliveries.agent_id AND exchange.id = deliveries.message_id
  WHERE deliveries.account_id = :account AND deliveries.message_id = :id`)

const ofEach = <T>(make: (table: string, row: string, isInbox: boolean) => T): Record<LineKind, T> => ({
  inbox: make('remote_agents', 'account_id = :account AND agent_id = :agent', true),
  exchange: make('remote_exchanges', 'account_id = :account AND agent_id = :agent AND id = :id', false),
  push: make('task_push_configs', 'account_id = :account AND agent_id = :agent AND id = :id', false),
  webhook: make('webhooks', 'account_id = :account AND id = :id AND id = :agent', false),
})
const failures = ofEach((table, row) =>
  query<Pick<Line, 'attempts' | 'failingSince'>>(`SELECT attempts, failing_since FROM ${table} WHERE ${row}`)
)
// From its hold on, a message neither expires nor can be retracted. One that may have arrived is sent again after its time.
const sending = `sending_id = (
  SELECT deliveries.message_id FROM deliveries
  WHERE deliveries.inbox = ${inboxOf()} AND deliveries.state = 'unread'
    AND (${isInTime} OR deliveries.message_id = remote_agents.sending_id)
  ORDER BY deliveries.seq LIMIT 1)`
// A unit that is sent again finds its own hold.
const hold = ofEach((table, row, isInbox) =>
  statement(`
    UPDATE ${table} SET ${isInbox ? `${sending},` : ''} held_by = :hold, tried_at = :at
    WHERE ${row} AND due_at <= :at AND (${isFree} OR held_by = :hold)
    RETURNING attempts, ${isInbox ? 'sending_id' : 'NULL AS sending_id'}`)
)
const fail = ofEach((table, row, isInbox) =>
  statement(`
    UPDATE ${table} SET ${isInbox ? 'sending_id = iif(:isUnsent, NULL, sending_id),' : ''}
      held_by = NULL, attempts = attempts + 1, failing_since = coalesce(failing_since, :at),
      error = :error, due_at = :dueAt
    WHERE ${row} AND held_by = :hold`)
)
const unreadExists = `EXISTS (SELECT 1 FROM agent_numbers
    WHERE agent_numbers.account_id = :account AND agent_numbers.agent_id = :agent AND agent_numbers.unread > 0)`
const accepted = statement(`
  UPDATE remote_agents SET held_by = NULL, attempts = 0, failing_since = NULL, error = NULL,
    due_at = iif(${unreadExists}, :at, NULL)
  WHERE account_id = :account AND agent_id = :agent AND held_by = :hold`)
const tryNow = statement(`
  UPDATE remote_agents SET due_at = :at WHERE account_id = :account AND agent_id = :agent AND ${unreadExists}`)
const pause = statement(`
  UPDATE remote_agents SET paused_at = coalesce(paused_at, :at) WHERE account_id = :account AND agent_id = :agent`)
// The time of the pause does not count as one in which the agent failed.
const resume = statement(`
  UPDATE remote_agents SET paused_at = NULL, attempts = 0, failing_since = NULL, error = NULL,
    due_at = iif(${unreadExists}, :at, NULL)
  WHERE account_id = :account AND agent_id = :agent AND paused_at IS NOT NULL`)
const putCard = statement(`
  UPDATE remote_agents SET card = :card, card_at = :at WHERE account_id = :account AND agent_id = :agent`)
const park = statement(`
  UPDATE deliveries SET state = 'parked', read_at = :at
  WHERE account_id = :account AND agent_id = :agent AND message_id = :message AND state = 'unread'`)
// A callback that came during the look has made the exchange due again. `min` of one that ends is NULL.
const putExchange = statement(`
  INSERT INTO remote_exchanges (account_id, id, agent_id, conversation, context_id, task_id, state, created_at, sends,
    callback_hash, due_at, error)
  VALUES (:account, :id, :agent, :conversation, :contextId, :taskId, :state, :at, :sends, :callbackHash, :dueAt, :error)
  ON CONFLICT (account_id, agent_id, id) DO UPDATE SET context_id = excluded.context_id, task_id = excluded.task_id,
    state = excluded.state, error = excluded.error, held_by = NULL, attempts = 0, failing_since = NULL,
    due_at = iif(due_at > tried_at, min(excluded.due_at, due_at), excluded.due_at)`)
const endInput = statement(`
  UPDATE remote_exchanges SET state = 'ended'
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation AND state = 'input-required'
    AND id <> :id`)

export type NewExchange = Omit<RemoteExchange, 'createdAt' | 'attempts' | 'failingSince' | 'triedAt'>

/** How far a message is at one remote agent. `isRead` and `isNext`, the first one of its line, are 0 or 1. */
export interface RemoteProgress {
  agentId: string
  isRead: number
  isNext: number
  /** Null until the agent has accepted or refused it, which was at `decidedAt`, with the attempt number `sends`. */
  state: ExchangeState | null
  decidedAt: number
  sends: number
  /** Of the line. */
  attempts: number
  error: string | null
  triedAt: number | null
}

/** A row that this process holds for one attempt. */
export interface HeldLine {
  kind: LineKind
  agent: string
  /** The id of the message of an exchange, of the agent, or of the registration of a webhook. */
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
    /** `isUnsent`: nothing of the message can have arrived. */
    failed: (
      { kind, agent, id, hold }: HeldLine,
      { error, dueAt, isUnsent }: { error: string; dueAt: number; isUnsent: boolean },
      at: number,
    ): Statement => account.bind(fail[kind], { agent, id, hold, error, at, dueAt, isUnsent }),
    /** The line of an agent goes on with its next unread message. */
    accepted: ({ agent, hold }: HeldLine, at: number): Statement => account.bind(accepted, { agent, hold, at }),
    tryNow: (agent: string, at: number): Statement => account.bind(tryNow, { agent, at }),
    pause: (agent: string, at: number): Statement => account.bind(pause, { agent, at }),
    resume: (agent: string, at: number): Statement => account.bind(resume, { agent, at }),
    putCard: (agent: string, card: string, at: number): Statement => account.bind(putCard, { agent, card, at }),
    park: (agent: string, message: string, at: number): Statement => account.bind(park, { agent, message, at }),
    /** Adds or replaces the exchange of a message, and ends an earlier one of the conversation that waited for input. */
    putExchange: (agent: string, exchange: NewExchange, at: number): Statement[] => [
      account.bind(putExchange, { ...exchange, agent, at }),
      account.bind(endInput, { agent, conversation: exchange.conversation, id: exchange.id }),
    ],
  }),
}
