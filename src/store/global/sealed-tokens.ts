import { and, asc, count, eq, isNotNull, ne, sql } from 'drizzle-orm'
import { agents, guardrails, pushKeys, signingKeys, totps } from '../../../db/schema.ts'
import {
  accountTokenContext,
  pushKeyContext,
  type SealedToken,
  signingKeyContext,
  totpContext,
} from '../../lib/key-ring.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { updatedToken } from '../driver/sealed-columns-old.ts'

/** A stored token, and where it is. */
export interface StoredToken extends SealedToken {
  /** The account or the user that it belongs to. */
  owner: string
  id: string
}

/** The tokens of one table. */
export interface SealedTable {
  name: string
  /** What is bound into a token of this row. */
  context(token: Pick<StoredToken, 'owner' | 'id'>): string
  /** At most `limit` tokens under other keys than this one, after a position, in the order of their owners and ids. */
  underOtherKeys(key: string, after: Pick<StoredToken, 'owner' | 'id'>, limit: number): Promise<StoredToken[]>
  /** How many tokens each key has. */
  byKey(): Promise<{ key: string; tokens: number }[]>
  /** Replace a token by the same one under another key. No row if it has been changed meanwhile, or is gone. */
  replace(token: StoredToken, sealed: SealedToken): Statement
}

/** Every table with sealed tokens, so that the keys can be changed. See docs/operations.md, "Changing the keys". */
export function prepareSealedTokens(db: Db, crossAccountQueries: CrossAccountQueries): readonly SealedTable[] {
  const ofAccount = (name: string) => ({ owner, id }: Pick<StoredToken, 'owner' | 'id'>) =>
    accountTokenContext(name, owner, id)

  /** The table has the columns of `guardrails` that are used here; `owner` and `id` are those of its primary key. */
  function prepare(
    name: string,
    table: typeof guardrails,
    { owner, id, context }: Pick<SealedTable, 'context'> & {
      owner: typeof guardrails.accountId
      id: typeof guardrails.id
    },
  ): SealedTable {
    const { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId } = table
    const underOtherKeys = db.select({ owner, id, encryptedToken, tokenIv, tokenAuthTag, tokenKeyId }).from(table)
      .where(and(
        ne(tokenKeyId, p('key')),
        sql`(${owner}, ${id}) > (${p('afterOwner')}, ${p('afterId')})`,
      )).orderBy(asc(owner), asc(id)).limit(p('limit')).prepare()
    crossAccountQueries.set(underOtherKeys.getQuery().sql, `tokens of ${name} under other keys`)
    const byKey = db.select({ key: tokenKeyId, tokens: count() }).from(table).where(isNotNull(tokenKeyId))
      .groupBy(tokenKeyId).prepare()
    crossAccountQueries.set(byKey.getQuery().sql, `tokens of ${name} by key`)
    const replace = db.update(table).set(updatedToken).where(and(
      eq(owner, p('owner')),
      eq(id, p('id')),
      eq(tokenKeyId, p('oldKeyId')),
      eq(tokenIv, p('oldIv')),
    )).returning({ id }).toSQL()

    return {
      name,
      context,
      // The column of the key is set, so the others are too.
      underOtherKeys: async (key, after, limit) =>
        await runQuery(underOtherKeys, { key, afterOwner: after.owner, afterId: after.id, limit }) as StoredToken[],
      byKey: async () => await runQuery(byKey) as { key: string; tokens: number }[],
      replace: (token, sealed) =>
        bind(replace, {
          ...sealed,
          owner: token.owner,
          id: token.id,
          oldKeyId: token.tokenKeyId,
          oldIv: token.tokenIv,
        }),
    }
  }

  const as = (table: unknown) => table as typeof guardrails
  return [
    prepare('guardrails', guardrails, {
      owner: guardrails.accountId,
      id: guardrails.id,
      context: ofAccount('guardrails'),
    }),
    prepare('agents', as(agents), { owner: as(agents).accountId, id: as(agents).id, context: ofAccount('agents') }),
    prepare('totps', as(totps), {
      owner: totps.userId as unknown as typeof guardrails.accountId,
      id: totps.userId as unknown as typeof guardrails.id,
      context: ({ owner }) => totpContext(owner),
    }),
    prepare('push_keys', as(pushKeys), {
      owner: pushKeys.id as unknown as typeof guardrails.accountId,
      id: as(pushKeys).id,
      context: ({ id }) => pushKeyContext(id),
    }),
    prepare('signing_keys', as(signingKeys), {
      owner: signingKeys.id as unknown as typeof guardrails.accountId,
      id: as(signingKeys).id,
      context: ({ id }) => signingKeyContext(id),
    }),
  ]
}
