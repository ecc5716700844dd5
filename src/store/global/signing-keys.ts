import type { SealedToken } from '../../lib/key-ring.ts'
import { type Db, insertedToken, query, sealedColumns, type Statement, statement } from '../sql.ts'

/** A key pair that signs agent cards, or has signed them. */
export interface StoredSigningKey {
  /** The `kid` of the key's signatures. */
  id: string
  publicKey: string
  /** The sealed private key. Undefined after a newer key replaced it. */
  privateKey?: SealedToken
  createdAt: number
}

type Row = Omit<StoredSigningKey, 'privateKey'> & { [Column in keyof SealedToken]: SealedToken[Column] | null }

const all = query<Row>(`
  SELECT id, public_key, ${sealedColumns}, created_at FROM signing_keys ORDER BY created_at DESC`)
const add = statement(`
  INSERT INTO signing_keys (id, public_key, ${sealedColumns}, created_at)
  SELECT :id, :publicKey, ${insertedToken}, :at
  WHERE coalesce((SELECT newest.id FROM signing_keys AS newest ORDER BY newest.created_at DESC LIMIT 1), '') = :after
  ON CONFLICT DO NOTHING
  RETURNING id`)
const isReplaced = `EXISTS (
    SELECT 1 FROM signing_keys AS newer
    WHERE newer.created_at > signing_keys.created_at AND newer.created_at <= :until)`
const forgetPrivate = statement(`
  UPDATE signing_keys SET encrypted_token = NULL, token_iv = NULL, token_auth_tag = NULL, token_key_id = NULL
  WHERE token_key_id IS NOT NULL AND ${isReplaced}`)
const removeReplaced = statement(`DELETE FROM signing_keys WHERE ${isReplaced} RETURNING id`)
const removeOthers = statement(`
  DELETE FROM signing_keys WHERE id <> :id AND EXISTS (SELECT 1 FROM signing_keys AS one WHERE one.id = :id)`)

export const signingKeys = (db: Db) => ({
  async list(): Promise<StoredSigningKey[]> {
    return (await db.all(all)).map((
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
  /** Adds the newest key, if the newest so far is `after` (empty: none). Returns a row if it was added. */
  add: (key: { id: string; publicKey: string; at: number }, sealed: SealedToken, after: string): Statement =>
    db.bind(add, { ...key, ...sealed, after }),
  /** Removes the private keys of keys replaced by `until`. */
  forgetPrivate: (until: number): Statement => db.bind(forgetPrivate, { until }),
  /** Removes keys that were replaced by `until`. Returns a row for each. */
  removeReplaced: (until: number): Statement => db.bind(removeReplaced, { until }),
  removeOthers: (id: string): Statement => db.bind(removeOthers, { id }),
})
