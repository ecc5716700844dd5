/** The account's remote agents: each sender's messages to them, and the state of accepted messages. */
import type { remoteTasks } from '../../../db/schema.ts'
import { agentOf, inboxOf, isInTime, isOfMessage } from './inbox-message.ts'
import { hasRoom, isFree, type OutboxKind } from '../global/outboxes.ts'
import { type AccountDb, query, type Statement, statement } from '../sql.ts'

export type RemoteTaskState = typeof remoteTasks.$inferSelect.state

interface Outbox {
  dueAt: number | null
  attempts: number
  failingSince: number | null
  error: string | null
  triedAt: number | null
}

/** The agent's outbox that has failed for the longest time. Its fields are null if no message fails. */
export interface RemoteAgentRow extends Omit<Outbox, 'attempts'> {
  attempts: number | null
  remoteUrl: string
  /** How long an answer to a message may take, in milliseconds. */
  answerMs: number
  pausedAt: number | null
  callbackSecret: string
  transport: string | null
  card: string | null
  cardAt: number | null
  encryptedToken: string | null
  tokenIv: string | null
  tokenAuthTag: string | null
  tokenKeyId: string | null
}

export interface RemoteTask extends Outbox {
  /** The message's id. */
  id: string
  conversation: string
  contextId: string | null
  taskId: string | null
  state: RemoteTaskState
  /** When the agent accepted or refused the message. */
  createdAt: number
  /** The number of the attempt that was accepted or refused, and when it began. */
  sends: number
  sentAt: number
}

const outboxColumns = 'due_at, attempts, failing_since, error, tried_at'
const remoteTaskColumns = `id, conversation, context_id, task_id, state, created_at, sends, sent_at, ${outboxColumns}`

/** For each remote agent, the outbox that has failed the longest. SQLite takes all columns from its row. */
export const failingOutboxes = `SELECT agent_id, min(failing_since) AS failing_since, due_at, attempts, error, tried_at
  FROM remote_outboxes WHERE account_id = :account AND failing_since IS NOT NULL GROUP BY agent_id`
const byId = query<RemoteAgentRow>(`
  SELECT agents.remote_url, agents.encrypted_token, agents.token_iv, agents.token_auth_tag, agents.token_key_id,
    remote.card, remote.card_at, remote.transport, remote.paused_at, remote.callback_secret, remote.answer_ms, outbox.due_at, outbox.attempts,
    outbox.failing_since, outbox.error, outbox.tried_at
  FROM remote_agents AS remote JOIN agents ON agents.account_id = remote.account_id AND agents.id = remote.agent_id
  LEFT JOIN (${failingOutboxes}) AS outbox ON outbox.agent_id = remote.agent_id
  WHERE remote.account_id = :account AND remote.agent_id = :agent AND agents.remote_url IS NOT NULL`)
const transport = query<Pick<RemoteAgentRow, 'transport'>>(`
  SELECT transport FROM remote_agents WHERE account_id = :account AND agent_id = :agent`)
const remoteTask = query<RemoteTask>(`
  SELECT ${remoteTaskColumns} FROM remote_tasks WHERE account_id = :account AND agent_id = :agent AND id = :id`)
const newest = query<RemoteTask>(`
  SELECT ${remoteTaskColumns} FROM remote_tasks
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation
  ORDER BY created_at DESC LIMIT 1`)

const joinMessages = `JOIN messages ON messages.seq = deliveries.seq`
const progress = query<RemoteProgress>(`
  SELECT remote.agent_id, deliveries.state IN ('read', 'task') AS is_read, deliveries.seq = (
      SELECT next.seq FROM deliveries AS next
      JOIN messages AS waiting ON waiting.seq = next.seq
      WHERE next.account_id = :account AND next.inbox = deliveries.inbox AND next.state = 'unread'
        AND (remote.transport IS NOT NULL OR waiting.from_agent_id = messages.from_agent_id)
      ORDER BY next.seq LIMIT 1) AS is_next,
    outbox.claimed_by IS NOT NULL AND outbox.sending_id = messages.id AS is_sending,
    remote_task.state, remote_task.created_at AS decided_at, remote_task.sends, remote_task.sent_at, outbox.attempts,
    iif(remote_task.id IS NULL, outbox.error, remote_task.error) AS error,
    iif(remote_task.id IS NULL, outbox.tried_at, remote_task.tried_at) AS tried_at
  FROM messages
  JOIN deliveries ON deliveries.seq = messages.seq
  JOIN remote_agents AS remote ON remote.account_id = :account AND remote.agent_id = ${agentOf()}
  LEFT JOIN remote_outboxes AS outbox ON outbox.account_id = :account AND outbox.agent_id = remote.agent_id
    AND outbox.sender_id = iif(remote.transport IS NULL, messages.from_agent_id, '')
  LEFT JOIN remote_tasks AS remote_task ON remote_task.account_id = :account
    AND remote_task.agent_id = remote.agent_id AND remote_task.id = messages.id
  WHERE messages.account_id = :account AND messages.id = :id AND deliveries.account_id = :account`)

const isSender = 'account_id = :account AND agent_id = :agent AND sender_id = :id'
const ofEach = <T>(make: (table: string, row: string, isInbox: boolean) => T): Record<OutboxKind, T> => ({
  inbox: make('remote_outboxes', isSender, true),
  task: make('remote_tasks', 'account_id = :account AND agent_id = :agent AND id = :id', false),
  push: make('task_push_configs', 'account_id = :account AND agent_id = :agent AND id = :id', false),
  webhook: make('webhooks', 'account_id = :account AND id = :id AND id = :agent', false),
})
const failures = ofEach((table, row, isInbox) =>
  query<Pick<Outbox, 'attempts' | 'failingSince'> & { unanswered: number }>(
    `SELECT attempts, failing_since, ${isInbox ? 'unanswered' : '0 AS unanswered'} FROM ${table} WHERE ${row}`,
  )
)
const unreadOnes = `deliveries ${joinMessages}
  WHERE deliveries.inbox = ${inboxOf()} AND deliveries.state = 'unread' AND (:id = '' OR messages.from_agent_id = :id)`
// Once a message is claimed, it does not expire and cannot be retracted. If it may have arrived, it is sent again even
// after its expiry.
const sending = `sending_id = (
  SELECT messages.id FROM ${unreadOnes}
    AND (${isInTime} OR messages.id = remote_outboxes.sending_id)
  ORDER BY deliveries.seq LIMIT 1)`
// A retried unit finds its own claim, and claims the outbox again.
const claim = ofEach((table, row, isInbox) =>
  statement(`
    UPDATE ${table} SET ${isInbox ? `${sending},` : ''} claimed_by = :claim, tried_at = :at
    WHERE ${row} AND due_at <= :at
      AND (claimed_by = :claim OR (${isFree} AND ${isInbox ? hasRoom(':account', ':agent') : '1'}))
    RETURNING attempts, ${isInbox ? 'sending_id' : 'NULL AS sending_id'}`)
)
const fail = ofEach((table, row, isInbox) =>
  statement(`
    UPDATE ${table} SET ${
    isInbox ? 'sending_id = iif(:isUnsent, NULL, sending_id), unanswered = unanswered + :isUnanswered,' : ''
  }
      claimed_by = NULL, attempts = attempts + 1, failing_since = iif(attempts = 0, :at, failing_since),
      error = :error, due_at = :dueAt
    WHERE ${row} AND claimed_by = :claim`)
)
const isClaimed = `${isSender} AND claimed_by = :claim`
const end = statement(`DELETE FROM remote_outboxes WHERE ${isClaimed} AND NOT EXISTS (SELECT 1 FROM ${unreadOnes})`)
// Nothing was sent, so the message can still expire or be retracted.
const putOff = statement(`
  UPDATE remote_outboxes SET claimed_by = NULL, sending_id = NULL, attempts = 0,
    failing_since = coalesce(failing_since, :at), error = :error, due_at = :dueAt
  WHERE ${isClaimed}`)
const goOn = statement(`
  UPDATE remote_outboxes SET claimed_by = NULL, sending_id = NULL, unanswered = 0, attempts = 0, failing_since = NULL,
    error = NULL, due_at = :at
  WHERE ${isClaimed}`)
// The agent can be reached again, so other senders' messages that could not be sent are due now.
const tryUnsent = statement(`
  UPDATE remote_outboxes SET due_at = min(due_at, :at)
  WHERE account_id = :account AND agent_id = :agent AND failing_since IS NOT NULL AND sending_id IS NULL
    AND EXISTS (SELECT 1 FROM remote_outboxes AS claimed WHERE claimed.account_id = :account AND claimed.agent_id = :agent
      AND claimed.sender_id = :id AND claimed.claimed_by = :claim)`)
const tryNow = statement(`
  UPDATE remote_outboxes SET due_at = :at WHERE account_id = :account AND agent_id = :agent`)
const pause = statement(`
  UPDATE remote_agents SET paused_at = coalesce(paused_at, :at) WHERE account_id = :account AND agent_id = :agent`)
// The pause does not count as time in which the agent failed.
const tryAgain = statement(`
  UPDATE remote_outboxes SET attempts = 0, failing_since = NULL, error = NULL, due_at = :at
  WHERE account_id = :account AND agent_id = :agent AND EXISTS (SELECT 1 FROM remote_agents
    WHERE account_id = :account AND agent_id = :agent AND paused_at IS NOT NULL)`)
const resume = statement('UPDATE remote_agents SET paused_at = NULL WHERE account_id = :account AND agent_id = :agent')
const setTransport = statement(`
  UPDATE remote_agents SET transport = :transport WHERE account_id = :account AND agent_id = :agent`)
const putCard = statement(`
  UPDATE remote_agents SET card = :card, card_at = :at WHERE account_id = :account AND agent_id = :agent`)
const park = statement(`
  UPDATE deliveries SET state = 'parked', read_at = :at
  WHERE ${isOfMessage('= :message')} AND deliveries.state = 'unread'`)
// If a callback made the remote task due during the poll, keeps that time. `min` is NULL for an ended task.
const putRemoteTask = statement(`
  INSERT INTO remote_tasks (account_id, id, agent_id, conversation, context_id, task_id, state, created_at, sends,
    sent_at, due_at, error)
  VALUES (:account, :id, :agent, :conversation, :contextId, :taskId, :state, :at, :sends, :sentAt, :dueAt, :error)
  ON CONFLICT (account_id, agent_id, id) DO UPDATE SET context_id = excluded.context_id, task_id = excluded.task_id,
    state = excluded.state, error = excluded.error, claimed_by = NULL, attempts = 0, failing_since = NULL,
    due_at = iif(due_at > tried_at, min(excluded.due_at, due_at), excluded.due_at)`)
const endInput = statement(`
  UPDATE remote_tasks SET state = 'ended'
  WHERE account_id = :account AND agent_id = :agent AND conversation = :conversation AND state = 'input-required'
    AND id <> :id`)

export type NewRemoteTask = Omit<RemoteTask, 'createdAt' | 'attempts' | 'failingSince' | 'triedAt'>

/** A message's progress at one remote agent. `isNext`: it is the oldest unread message of its sender. */
export interface RemoteProgress {
  agentId: string
  /** 0 or 1, like `isNext` and `isSending`. */
  isRead: number
  isNext: number
  isSending: number | null
  /** Null until the agent accepted or refused the message in attempt `sends` (from `sentAt` to `decidedAt`). */
  state: RemoteTaskState | null
  decidedAt: number
  sends: number
  sentAt: number
  /** Number of failures in a row. */
  attempts: number | null
  error: string | null
  triedAt: number | null
}

interface Failure {
  error: string
  dueAt: number
  /** No part of the message can have arrived. */
  isUnsent: boolean
  /** The whole message arrived, but there was no valid response. */
  isUnanswered: boolean
}

/** A row that this process holds for one attempt. */
export interface ClaimedOutbox {
  kind: OutboxKind
  agent: string
  /** Depending on `kind`, the id of a sender of messages, a remote task's message, or a webhook registration. */
  id: string
  claim: string
}

export const remoteAgents = {
  reads: (account: AccountDb) => ({
    byId: (agent: string) => account.one(byId, { agent }),
    /** A message's progress at each of the account's remote agents that it was sent to. */
    progress: (id: string) => account.all(progress, { id }),
    /** The feature that delivers an agent's messages; null for A2A. */
    transport: async (agent: string) => (await account.one(transport, { agent }))?.transport ?? null,
    remoteTask: (agent: string, id: string) => account.one(remoteTask, { agent, id }),
    /** How many of an outbox's requests have failed in a row, and since when. */
    failures: ({ kind, agent, id }: ClaimedOutbox) => account.one(failures[kind], { agent, id }),
    /** The last remote task of a conversation with the agent. */
    newest: (agent: string, conversation: string) => account.one(newest, { agent, conversation }),
  }),
  changes: (account: AccountDb) => ({
    /** Claims the outbox if it is due. Returns a row with `attempts` and, for an inbox, `sending_id`. */
    claim: ({ kind, agent, id, claim: by }: ClaimedOutbox, instance: string, at: number): Statement =>
      account.bind(claim[kind], { agent, id, claim: by, instance, at }),
    failed: ({ kind, agent, id, claim }: ClaimedOutbox, failure: Failure, at: number): Statement =>
      account.bind(fail[kind], { agent, id, claim, at, ...failure }),
    /** Delays all attempts until `dueAt`, for the reason `error`. */
    putOff: ({ agent, id, claim }: ClaimedOutbox, until: Pick<Failure, 'error' | 'dueAt'>, at: number): Statement =>
      account.bind(putOff, { agent, id, claim, at, ...until }),
    /** Continues with the sender's next unread message. Must follow the statements that change the sent message. */
    accepted: ({ agent, id, claim }: ClaimedOutbox, at: number): Statement[] => [
      account.bind(tryUnsent, { agent, id, claim, at }),
      account.bind(end, { agent, id, claim }),
      account.bind(goOn, { agent, id, claim, at }),
    ],
    tryNow: (agent: string, at: number): Statement => account.bind(tryNow, { agent, at }),
    pause: (agent: string, at: number): Statement => account.bind(pause, { agent, at }),
    resume: (agent: string, at: number): Statement[] => [
      account.bind(tryAgain, { agent, at }),
      account.bind(resume, { agent }),
    ],
    /** Makes this feature deliver the agent's messages from now on, in one order for all senders. */
    setTransport: (agent: string, transport: string): Statement => account.bind(setTransport, { agent, transport }),
    putCard: (agent: string, card: string, at: number): Statement => account.bind(putCard, { agent, card, at }),
    park: (agent: string, message: string, at: number): Statement => account.bind(park, { agent, message, at }),
    /** Adds or replaces a message's remote task, and ends the conversation's earlier one that waited for input. */
    putRemoteTask: (agent: string, remoteTask: NewRemoteTask, at: number): Statement[] => [
      account.bind(putRemoteTask, { ...remoteTask, agent, at }),
      account.bind(endInput, { agent, conversation: remoteTask.conversation, id: remoteTask.id }),
    ],
  }),
}
