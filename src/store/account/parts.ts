/** Parts of messages that are too large for an inbox. See docs/protocol.md, "Large parts". */
import { and, eq, exists, isNull, ne, not, type SQL, sql } from 'drizzle-orm'
import { deliveries, messages, parts, verdicts } from '../../../db/schema.ts'
import { type AccountBinding, p, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'
import type { NewMessage } from './new-message.ts'

/** A part of a message. `content` is its text, or base64 of its bytes; `bytes` is the length of what it stands for. */
export interface StoredPart {
  id: string
  mediaType: string
  encoding: 'utf8' | 'base64'
  content: string
  bytes: number
}

/** A part that was looked for in a message: undefined if it is not stored apart. `a2a` is JSON text or null. */
export interface PartOfMessage {
  part?: StoredPart
  a2a: string | null
}

/** About how many rows a message with large parts has here, for the write queue. */
const usualParts = 5

/**
 * Whether a guardrail of another account than that of the sender masked something in a message. Where is not for the
 * sender to see.
 */
export function isRedactedByOthers(db: Db): SQL {
  return exists(
    db.select({ one: sql`1` }).from(verdicts).where(and(
      eq(verdicts.senderAccountId, messages.accountId),
      eq(verdicts.messageId, messages.id),
      ne(verdicts.accountId, messages.accountId),
      eq(verdicts.action, sql`'redacted'`),
    )),
  )
}

export function prepareParts(db: Db) {
  const fields = {
    a2a: sql<string | null>`${messages.a2a}`,
    id: parts.id,
    mediaType: parts.mediaType,
    encoding: parts.encoding,
    content: parts.content,
    bytes: parts.bytes,
  }
  const isWanted = and(eq(parts.accountId, messages.accountId), eq(parts.messageId, messages.id), eq(parts.id, p('id')))
  // A redacted delivery has its own details as a whole. The parts of the message hold what was redacted.
  const received = db.select({ ...fields, a2a: sql<string | null>`coalesce(${deliveries.a2a}, ${messages.a2a})` })
    .from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .leftJoin(parts, and(isWanted, isNull(deliveries.a2a)))
    .where(inAccount(
      deliveries,
      eq(deliveries.agentId, p('agent')),
      eq(deliveries.messageId, p('message')),
      ne(deliveries.state, sql`'parked'`),
    )).limit(1).prepare()
  const sent = db.select(fields).from(messages).leftJoin(parts, isWanted)
    .where(inAccount(
      messages,
      eq(messages.id, p('message')),
      eq(messages.fromAgentId, p('agent')),
      not(isRedactedByOthers(db)),
    )).limit(1).prepare()

  const member = <T = string>(path: string, as: string) => sql<T>`json_extract(value, ${path})`.as(as)
  const add = db.insert(parts).select(
    db.select({
      accountId: value('account'),
      id: member('$.id', 'id'),
      messageId: value('id'),
      mediaType: member('$.mediaType', 'media_type'),
      encoding: member<StoredPart['encoding']>('$.encoding', 'encoding'),
      content: member('$.content', 'content'),
      bytes: member<number>('$.bytes', 'bytes'),
    }).from(sql`json_each(${p('parts')})`)
      .where(exists(
        db.select({ one: sql`1` }).from(messages).where(inAccount(messages, eq(messages.id, p('id')))),
      )),
  ).onConflictDoNothing().toSQL()

  type Row = Awaited<ReturnType<typeof received.all>>[number]
  const asPart = (row: Row | undefined): PartOfMessage | undefined => {
    if (!row) return undefined
    const { a2a, id, mediaType, encoding, content, bytes } = row
    return id === null
      ? { a2a }
      : { a2a, part: { id, mediaType: mediaType!, encoding: encoding!, content: content!, bytes: bytes! } }
  }

  return {
    reads: (account: AccountBinding) => ({
      /** A part of a message that was sent to an agent of the account, also from another account. */
      received: async (agent: string, message: string, id: string) =>
        asPart(await account.one(received, { agent, message, id })),
      /** A part of a message that the agent itself sent. */
      sent: async (agent: string, message: string, id: string) =>
        asPart(await account.one(sent, { agent, message, id })),
    }),
    changes: (account: AccountBinding) => ({
      /** Store the parts of a message, if the message is stored. */
      add: ({ id, largeParts }: NewMessage) => ({
        ...account.bind(add, { id, parts: largeParts ?? '[]' }),
        rows: usualParts,
      }),
    }),
  }
}
