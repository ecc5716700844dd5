/** A message in a mailbox, as every look and every hand-out selects it. */
import type { Row } from '@libsql/client'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { accounts, agents, deliveries, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p } from '../driver/binding.ts'
import { skillsAsJson } from './agents.ts'

/** Times are milliseconds since the epoch; `senderSkills` and `a2a` are JSON text, which may be damaged. */
export interface Mail {
  seq: number
  state: 'unread' | 'read' | 'parked'
  chars: number
  returned: number
  id: string
  recipient: string
  fromAlias: string
  type: 'agent' | 'human' | 'system'
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  /** 0 or 1. */
  flagged: number
  createdAt: number
  senderDescription: string
  senderSkills: string
  senderState: 'provisional' | 'claimed' | 'merged' | 'removed'
}

/** Nothing is decoded: one damaged row must not hide the others, and a unit of the write queue gives raw rows. */
const fields = (db: Db) => ({
  seq: deliveries.seq,
  state: deliveries.state,
  chars: deliveries.chars,
  returned: deliveries.returned,
  id: messages.id,
  recipient: messages.recipient,
  fromAlias: messages.fromAlias,
  type: messages.type,
  body: messages.body,
  replyToMessageId: messages.replyToMessageId,
  conversationId: messages.conversationId,
  a2a: sql<string | null>`${messages.a2a}`,
  flagged: sql<number>`${messages.flagged}`,
  createdAt: messages.createdAt,
  senderDescription: agents.description,
  senderSkills: skillsAsJson(db),
  senderState: accounts.state,
})

/** Mail of an agent, oldest first; `further` fields stand behind those of `Mail`. */
export function selectMail<Further extends Record<string, SQL.Aliased>>(
  db: Db,
  condition: SQL,
  further = {} as Further,
) {
  return db.select({ ...fields(db), ...further }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .innerJoin(agents, and(eq(agents.accountId, messages.accountId), eq(agents.id, messages.fromAgentId)))
    .innerJoin(accounts, eq(accounts.id, messages.accountId))
    .where(own(deliveries, eq(deliveries.agentId, p('agent')), condition))
    .orderBy(deliveries.seq)
}

/** Reads the raw rows of `selectMail`. */
export function mailReader(db: Db): (row: Row) => Mail {
  const names = Object.keys(fields(db))
  return (row) => Object.fromEntries(names.map((name, i) => [name, row[i]])) as unknown as Mail
}
