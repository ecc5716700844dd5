/** Remote agents of the account: the line of messages to each, and what became of those that were accepted. */
import type { Row } from '@libsql/client'
import type { remoteExchanges } from '../../../db/schema.ts'
import { inboxOf, isInTime } from './inbox-message.ts'
import { isFree, type LineKind } from '../global/remote-lines.ts'
import { type AccountDb, type Query, query, type Statement, statement } from '../sql.ts'

export type ExchangeState = typeof remoteExchanges.$inferSelect.state

interface Line {
  dueAt: number | null
  attempts: number
  failingSince: number | null
  error: string | null
}

export interface RemoteAgentRow extends Line {
  remoteUrl: string
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
}

const lineColumns = 'due_at, attempts, failing_since, error'
const exchangeColumns = `id, conversation, context_id, task_id, state, created_at, ${lineColumns}`

const byId = query<RemoteAgentRow>(`
  SELECT agents.remote_url, agents.encrypted_token, agents.token_iv, agents.token_auth_tag, agents.token_key_id,
    remote.card, remote.card_at, remote.due_at, remote.attempts, remote.failing_since, remote.error
  FROM remote_agents AS remote JOIN agents ON agents.account_id = remote.account_id AND agents.id = remote.agent_id
  WHERE remote.account_id = :account AND remote.agent_id = :agent AND agents.remote_url IS NOT NULL`)
const exchange = query<RemoteExchange>(`
  SELECT ${exchangeColumns} FROM remote_exchanges WHERE account_id = :account AND agent_id = :agent AND id = :id`)
const newest = query<RemoteExchange>(`
  SELECT ${exchangeColumns} FROM remote_exchanges
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation
  ORDER BY created_at DESC LIMIT 1`)

const rowOf = {
  inbox: 'account_id = :account AND agent_id = :agent',
  exchange: 'account_id = :account AND agent_id = :agent AND id = :id',
}
// A unit that is sent again finds its own hold.
const holding = (table: string, row: string, sending: string) =>
  statement(`
    UPDATE ${table} SET held_by = :hold ${sending}
    WHERE ${row} AND due_at <= :at AND (${isFree} OR held_by = :hold)
    RETURNING ${sending === '' ? 'id' : 'sending_id AS id'}`)
// From here on the message neither expires nor can be retracted. One that may have arrived is sent again after its time.
const hold: Record<LineKind, Query<Row>> = {
  inbox: holding(
    'remote_agents',
    rowOf.inbox,
    `, sending_id = (
      SELECT deliveries.message_id FROM deliveries
      WHERE deliveries.inbox = ${inboxOf()} AND deliveries.state = 'unread'
        AND (${isInTime} OR deliveries.message_id = remote_agents.sending_id)
      ORDER BY deliveries.seq LIMIT 1)`,
  ),
  exchange: holding('remote_exchanges', rowOf.exchange, ''),
}
const failing = (table: string, row: string, sending: string) =>
  statement(`
    UPDATE ${table} SET held_by = NULL, attempts = attempts + 1, failing_since = coalesce(failing_since, :at),
      error = :error, due_at = :dueAt ${sending}
    WHERE ${row} AND held_by = :hold`)
const fail: Record<LineKind, Query<Row>> = {
  inbox: failing('remote_agents', rowOf.inbox, ', sending_id = iif(:isUnsent, NULL, sending_id)'),
  exchange: failing('remote_exchanges', rowOf.exchange, ''),
}
const unreadExists = `EXISTS (SELECT 1 FROM agent_numbers
    WHERE agent_numbers.account_id = :account AND agent_numbers.agent_id = :agent AND agent_numbers.unread > 0)`
const accepted = statement(`
  UPDATE remote_agents SET held_by = NULL, attempts = 0, failing_since = NULL, error = NULL,
    due_at = iif(${unreadExists}, :at, NULL)
  WHERE account_id = :account AND agent_id = :agent AND held_by = :hold`)
const tryNow = statement(`
  UPDATE remote_agents SET due_at = :at WHERE account_id = :account AND agent_id = :agent AND ${unreadExists}`)
const putCard = statement(`
  UPDATE remote_agents SET card = :card, card_at = :at WHERE account_id = :account AND agent_id = :agent`)
const park = statement(`
  UPDATE deliveries SET state = 'parked', read_at = :at
  WHERE account_id = :account AND agent_id = :agent AND message_id = :message AND state = 'unread'`)
const putExchange = statement(`
  INSERT INTO remote_exchanges (account_id, id, agent_id, conversation, context_id, task_id, state, created_at, due_at,
    error)
  VALUES (:account, :id, :agent, :conversation, :contextId, :taskId, :state, :at, :dueAt, :error)
  ON CONFLICT (account_id, agent_id, id) DO UPDATE SET context_id = excluded.context_id, task_id = excluded.task_id,
    state = excluded.state, due_at = excluded.due_at, error = excluded.error, held_by = NULL, attempts = 0,
    failing_since = NULL`)
const endInput = statement(`
  UPDATE remote_exchanges SET state = 'ended'
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation AND state = 'input-required'
    AND id <> :id`)

export interface NewExchange extends Pick<RemoteExchange, 'id' | 'conversation' | 'contextId' | 'taskId' | 'state'> {
  dueAt: number | null
  error: string | null
}

/** A row that this process holds for one attempt. */
export interface HeldLine {
  kind: LineKind
  agent: string
  /** The id of the message of an exchange; that of the agent otherwise. */
  id: string
  hold: string
}

export const remoteAgents = {
  reads: (account: AccountDb) => ({
    byId: (agent: string) => account.one(byId, { agent }),
    exchange: (agent: string, id: string) => account.one(exchange, { agent, id }),
    /** The last exchange of a conversation with the agent. */
    newest: (agent: string, conversation: string) => account.one(newest, { agent, conversation }),
  }),
  changes: (account: AccountDb) => ({
    /** Returns a row if the line is due, and is now held: the column `id` is that of its message, or null. */
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
    putCard: (agent: string, card: string, at: number): Statement => account.bind(putCard, { agent, card, at }),
    park: (agent: string, message: string, at: number): Statement => account.bind(park, { agent, message, at }),
    /** Adds or replaces the exchange of a message, and ends an earlier one of the conversation that waited for input. */
    putExchange: (agent: string, exchange: NewExchange, at: number): Statement[] => [
      account.bind(putExchange, { ...exchange, agent, at }),
      account.bind(endInput, { agent, conversation: exchange.conversation, id: exchange.id }),
    ],
  }),
}
