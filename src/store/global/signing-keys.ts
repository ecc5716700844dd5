import { and, desc, isNotNull, ne, sql } from 'drizzle-orm'
import { signingKeys } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** A key pair that signs agent cards, or has signed them. */
export interface StoredSigningKey {
  /** The `kid` of its signatures. */
  id: string
  /** JSON of a JWK. */
  publicKey: string
  /** The sealed private key; undefined once a newer key signs. */
  privateKey?: SealedToken
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** See docs/security.md, "Signing keys". */
export function prepareSigningKeys(db: Db) {
  const all = db.select().from(signingKeys).orderBy(desc(signingKeys.createdAt)).prepare()
  const newest =
    sql`coalesce((SELECT newest.id FROM ${signingKeys} AS newest ORDER BY newest.created_at DESC LIMIT 1), '')`
  const add = db.insert(signingKeys).select(
    db.select({
      id: value('id'),
      publicKey: value('publicKey'),
      encryptedToken: value<string | null>('encryptedToken'),
      tokenIv: value<string | null>('tokenIv'),
      tokenAuthTag: value<string | null>('tokenAuthTag'),
      tokenKeyId: value<string | null>('tokenKeyId'),
      createdAt: value<number>('at'),
    }).from(sql`(SELECT 1)`).where(sql`${newest} = ${p('after')}`),
  ).onConflictDoNothing().returning({ id: signingKeys.id }).toSQL()
  const isReplaced = sql`EXISTS (SELECT 1 FROM ${signingKeys} AS newer
    WHERE newer.created_at > ${signingKeys.createdAt} AND newer.created_at <= ${p('until')})`
  const forgetPrivate = db.update(signingKeys)
    .set({ encryptedToken: null, tokenIv: null, tokenAuthTag: null, tokenKeyId: null })
    .where(and(isNotNull(signingKeys.tokenKeyId), isReplaced)).toSQL()
  const removeReplaced = db.delete(signingKeys).where(isReplaced).returning({ id: signingKeys.id }).toSQL()
  const isThere = sql`EXISTS (SELECT 1 FROM ${signingKeys} AS one WHERE one.id = ${p('id')})`
  const removeOthers = db.delete(signingKeys).where(and(ne(signingKeys.id, p('id')), isThere)).toSQL()

  return {
    /** All keys, the newest first. */
    async list(): Promise<StoredSigningKey[]> {
      return (await runQuery(all)).map((
        { id, publicKey, createdAt, encryptedToken, tokenIv, tokenAuthTag, tokenKeyId },
      ) => ({
        id,
        publicKey,
        createdAt,
        ...(encryptedToken !== null && tokenIv !== null && tokenAuthTag !== null && tokenKeyId !== null && {
          privateKey: { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId },
        }),
      }))
    },
    /** Add the newest key, if the newest is `after`; empty: if there is none. Returns a row if it was added. */
    add: (key: { id: string; publicKey: string; at: number }, sealed: SealedToken, after: string): Statement =>
      bind(add, { ...key, ...sealed, after }),
    /** Remove the private keys of those that have a newer one from `until` or before. */
    forgetPrivate: (until: number): Statement => bind(forgetPrivate, { until }),
    /** Remove the keys that have a newer one from `until` or before. Returns a row for each. */
    removeReplaced: (until: number): Statement => bind(removeReplaced, { until }),
    /** Remove all keys but this one, if it is there. */
    removeOthers: (id: string): Statement => bind(removeOthers, { id }),
  }
}
