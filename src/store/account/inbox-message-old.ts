/** A message in an inbox, as every read selects it. */
import type { Row } from '@libsql/client'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { accounts, agents, deliveries, messages } from '../../../db/schema.ts'
import { p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'
import { skillNamesAsJson } from './agents.ts'

/** How many skills of a sender a message names, so that a sender fills neither the reader's context nor memory. */
const maxSenderSkills = 10

/** Times are milliseconds since the epoch; `senderSkills` and `a2a` are JSON text, which may be damaged. */
export interface InboxMessage {
  seq: number
  state: 'unread' | 'read' | 'parked' | 'task' | 'withdrawn'
  chars: number
  /** How many leases of it were released. */
  releaseCount: number
  id: string
  recipient: string
  fromAlias: string
  type: 'agent' | 'human' | 'system'
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  /** The task that it belongs to. */
  taskId: string | null
  /** 0 or 1. */
  flagged: number
  /** 0 or 1. */
  sanitized: number
  /** How many answers led to it. */
  hops: number
  createdAt: number
  senderDescription: string
  senderSkills: string
  senderState: 'provisional' | 'claimed' | 'merged' | 'removed'
  /** 0 or 1: the sender belongs to another account than the recipient. */
  isExternal: number
}

/** Nothing is decoded: one damaged row must not hide the others, and a unit of the write queue returns raw rows. */
const fields = (db: Db) => ({
  seq: deliveries.seq,
  state: deliveries.state,
  chars: deliveries.chars,
  releaseCount: deliveries.releaseCount,
  id: messages.id,
  recipient: messages.recipient,
  fromAlias: messages.fromAlias,
  type: messages.type,
  body: sql<string>`coalesce(${deliveries.body}, ${messages.body})`,
  replyToMessageId: messages.replyToMessageId,
  conversationId: messages.conversationId,
  a2a: sql<string | null>`coalesce(${deliveries.a2a}, ${messages.a2a})`,
  taskId: deliveries.taskId,
  flagged: sql<number>`${messages.flagged} OR ${deliveries.flagged}`,
  sanitized: sql<number>`${messages.sanitized}`,
  hops: messages.hops,
  createdAt: messages.createdAt,
  senderDescription: agents.description,
  senderSkills: skillNamesAsJson(db, maxSenderSkills),
  senderState: accounts.state,
  isExternal: sql<number>`${deliveries.senderAccountId} <> ${deliveries.accountId}`,
})

/** Messages of an agent, oldest first. The `extra` fields come after the fields of `InboxMessage`. */
export function selectInboxMessages<Extra extends Record<string, SQL.Aliased>>(
  db: Db,
  condition: SQL,
  extra = {} as Extra,
) {
  return db.select({ ...fields(db), ...extra }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .innerJoin(agents, and(eq(agents.accountId, messages.accountId), eq(agents.id, messages.fromAgentId)))
    .innerJoin(accounts, eq(accounts.id, messages.accountId))
    .where(inAccount(deliveries, eq(deliveries.agentId, p('agent')), condition))
    .orderBy(deliveries.seq)
}

/** Reads the raw rows of `selectInboxMessages`. */
export function inboxMessageReader(db: Db): (row: Row) => InboxMessage {
  const names = Object.keys(fields(db))
  return (row) => {
    const message: Record<string, unknown> = {}
    for (let i = 0; i < names.length; i++) message[names[i]] = row[i]
    return message as unknown as InboxMessage
  }
}
