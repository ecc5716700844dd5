import { eq, sql } from 'drizzle-orm'
import { deliveries, messages, projections, threadMessages } from '../../../db/schema.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { followed } from './thread-projection.ts'

export type LivePlaces = ReturnType<typeof prepareLivePlaces>

/** A message in a thread of an account, with what decides about who may read it. No text. */
export interface LivePlace {
  accountId: string
  threadId: number
  seq: number
  /** When it was stored, in milliseconds since the epoch. */
  at: number
  channelId: string | null
  fromAgentId: string
  /** The recipient; null for a post, and for a message that reached nobody. */
  toAgentId: string | null
}

/** Messages that were placed in threads since a position of the log, for the accounts whose pages are open. */
export function prepareLivePlaces(db: Db, crossAccountQueries: CrossAccountQueries) {
  const position = db.select({ seq: projections.seq }).from(projections).where(eq(projections.name, sql`'threads'`))
    .prepare()

  // The places of one unit appear with its position, so what is not beyond the position is complete.
  const newPlaces = db.select({
    accountId: threadMessages.accountId,
    threadId: threadMessages.threadId,
    seq: threadMessages.seq,
    at: messages.createdAt,
    channelId: messages.channelId,
    fromAgentId: messages.fromAgentId,
    toAgentId: sql<string | null>`${deliveries.agentId}`.as('to_agent_id'),
  }).from(sql`json_each(${p('accounts')}) AS watched`)
    .crossJoin(threadMessages)
    .crossJoin(messages)
    .leftJoin(
      deliveries,
      sql`${deliveries.messageId} = ${messages.id} AND ${deliveries.senderAccountId} = ${messages.accountId}
        AND ${messages.channelId} IS NULL`,
    )
    .where(sql`${threadMessages.accountId} = watched.value AND ${threadMessages.seq} > ${p('after')}
      AND ${threadMessages.seq} <= min(${followed}, ${p('upTo')}) AND ${messages.seq} = ${threadMessages.seq}`)
    .orderBy(threadMessages.seq).limit(p('limit')).prepare()
  crossAccountQueries.set(newPlaces.getQuery().sql, 'new places of watched accounts')

  return {
    /** How far messages are placed; negative while all of them are placed again. */
    position: async (): Promise<number> => (await runQuery(position))[0].seq,
    /** The places of some accounts after a position and up to another one, oldest first, at most `limit`. */
    after: (accounts: string[], after: number, upTo: number, limit: number): Promise<LivePlace[]> =>
      runQuery(newPlaces, { accounts: JSON.stringify(accounts), after, upTo, limit }),
  }
}
