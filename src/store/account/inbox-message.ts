/** Shared SQL of inboxes: an inbox's number, its unread messages, and the columns of a message that is read. */
import type { Row } from '@libsql/client'
import type { deliveries } from '../../../db/schema.ts'
import { skillNamesAsJson } from './agent-columns.ts'
import { taskEnds } from './task-ends.ts'

/**
 * An agent's inbox number, as a subquery; no row if the agent does not belong to the account. `agent` and `account` are
 * SQL. A foreign key ties the number to the agent and its account, so the indexes by inbox suffice.
 */
export function inboxOf(agent = ':agent', account = ':account'): string {
  return `(SELECT agent_numbers.n FROM agent_numbers
    WHERE agent_numbers.account_id = ${account} AND agent_numbers.agent_id = ${agent})`
}

/** The agent whose inbox contains a delivery, as a subquery. */
export function agentOf(delivery = 'deliveries'): string {
  return `(SELECT agent_numbers.agent_id FROM agent_numbers WHERE agent_numbers.n = ${delivery}.inbox)`
}

/**
 * Condition: the delivery is in the inbox of `:agent`, and its message has one of these ids. `ids` is SQL that begins
 * with an operator. Another account's message is found by the id stored in its delivery.
 */
export function isOfMessage(ids = '= :id'): string {
  return `deliveries.inbox = ${inboxOf()} AND deliveries.seq IN (
    SELECT messages.seq FROM messages WHERE messages.account_id = :account AND messages.id ${ids}
    UNION ALL
    SELECT outside.seq FROM deliveries AS outside
    WHERE outside.inbox = ${inboxOf()} AND outside.external_message_id ${ids})`
}

/** Sends and reads count unread messages up to this number, which then means this many or more. */
export const maxCountedUnread = 100

/** An agent's number of unread messages, as a subquery. Triggers maintain it. `agent` and `account` are SQL. */
export function unreadOf(agent = ':agent', account = ':account'): string {
  return `(SELECT agent_numbers.unread FROM agent_numbers
    WHERE agent_numbers.account_id = ${account} AND agent_numbers.agent_id = ${agent})`
}

export function countedUnread(agent = ':agent'): string {
  return `min(${unreadOf(agent)}, ${maxCountedUnread})`
}

/** A message's details as delivered to an agent. A delivery with its own text has its own details, or none. */
export function givenDetails(delivery = 'deliveries'): string {
  return `iif(${delivery}.body IS NULL, messages.a2a, ${delivery}.a2a)`
}

/** Condition on unread `deliveries`: they have not expired at `:at`. The worker expires the others a moment later. */
export const isInTime = '(deliveries.expires_at IS NULL OR deliveries.expires_at > :at)'

/** Maximum number of a sender's skills in a message, to protect the reader's context and memory. */
const maxSenderSkills = 10

/** Times are milliseconds since the epoch; `senderSkills` and `a2a` are JSON text, which may be damaged. */
export interface InboxMessage {
  seq: number
  state: typeof deliveries.$inferSelect.state
  chars: number
  releaseCount: number
  id: string
  recipient: string
  fromAlias: string
  type: 'agent' | 'human' | 'system'
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  taskId: string | null
  /** 0 or 1: the task is open, and the reader should answer it. */
  awaitsAnswer: number
  flagged: number
  sanitized: number
  edited: number
  sharedWith: string | null
  via: 'slack' | 'hook' | null
  hops: number
  createdAt: number
  senderDescription: string
  senderSkills: string
  senderState: 'provisional' | 'claimed' | 'removed'
  /** 0 or 1: sender and recipient belong to different accounts. */
  isExternal: number
  traceparent: string | null
}

/** Fields are not decoded, because one damaged row must not hide the others, and units return raw rows. */
const fields: Record<keyof InboxMessage, string> = {
  seq: 'deliveries.seq',
  state: 'deliveries.state',
  chars: 'deliveries.chars',
  releaseCount: 'deliveries.release_count',
  id: 'messages.id',
  recipient: 'messages.recipient',
  fromAlias: 'messages.from_alias',
  type: 'messages.type',
  body: 'coalesce(deliveries.body, messages.body)',
  replyToMessageId: 'messages.reply_to_message_id',
  conversationId: 'messages.conversation_id',
  a2a: givenDetails(),
  taskId: 'deliveries.task_id',
  awaitsAnswer: `deliveries.task_id IS NOT NULL AND EXISTS (SELECT 1 FROM tasks
    WHERE tasks.account_id = messages.account_id AND tasks.id = deliveries.task_id
      AND ${taskEnds.recipient} AND tasks.expires_at IS NOT NULL)`,
  flagged: 'messages.flagged OR deliveries.flagged',
  sanitized: 'messages.sanitized',
  edited: 'messages.edited',
  sharedWith: 'messages.shared_with',
  via: 'messages.via',
  hops: 'messages.hops',
  createdAt: 'messages.created_at',
  senderDescription: 'agents.description',
  senderSkills: skillNamesAsJson(maxSenderSkills),
  senderState: 'accounts.state',
  isExternal: 'messages.account_id <> deliveries.account_id',
  traceparent: 'messages.traceparent',
}

/** Maximum bytes of a message other than its texts: member names, ids, aliases, the time and flags. */
const fixedBytes = 480
/** Further bytes for a task and parts. */
const [taskBytes, partsBytes] = [150, 360]

/**
 * An upper bound for a message's bytes in a result for a model, as a query on `candidates (seq, chars)`. It returns
 * `seq`, `chars` and `bytes`. Escaped Unicode line separators at most double the size, and so do text files that are
 * shown as text.
 */
export const answerBytes = `
  SELECT seq, chars, ${fixedBytes} + iif(task_id IS NULL, 0, ${taskBytes}) + iif(details IS NULL, 0, ${partsBytes})
      + octet_length(json_quote(texts)) * (1 + (texts GLOB '*[' || char(8232, 8233) || ']*'))
      + coalesce(octet_length(details) * (1 + (details GLOB '*[' || char(8232, 8233) || ']*'
        OR instr(details, '"raw"') > 0)), 0) AS bytes
  FROM (
    SELECT candidates.seq, candidates.chars, deliveries.task_id, ${givenDetails()} AS details,
      concat(coalesce(deliveries.body, messages.body), messages.conversation_id, messages.shared_with,
        iif(row_number() OVER (PARTITION BY messages.from_alias ORDER BY candidates.seq) = 1,
          agents.description || ${skillNamesAsJson(maxSenderSkills)}, '')) AS texts
    FROM candidates JOIN deliveries ON deliveries.seq = candidates.seq AND deliveries.inbox = ${inboxOf()}
    JOIN messages ON messages.seq = deliveries.seq
    JOIN agents ON agents.account_id = messages.account_id AND agents.id = messages.from_agent_id)`

const names = Object.keys(fields) as (keyof InboxMessage)[]
const columns = names.map((name) => `${fields[name]} AS "${name}"`).join(',\n')

/** A query for an agent's messages that match `condition`, oldest first. `extra` are further fields. */
export function selectInboxMessages(condition: string, extra: string[] = []): string {
  return `SELECT ${[columns, ...extra].join(', ')}
    FROM deliveries
    JOIN messages ON messages.seq = deliveries.seq
    JOIN agents ON agents.account_id = messages.account_id AND agents.id = messages.from_agent_id
    JOIN accounts ON accounts.id = messages.account_id
    WHERE deliveries.inbox = ${inboxOf()} AND (${condition})
    ORDER BY deliveries.seq`
}

export function inboxMessageOf(row: Row): InboxMessage {
  const message: Record<string, unknown> = {}
  for (let i = 0; i < names.length; i++) message[names[i]] = row[i]
  return message as unknown as InboxMessage
}
