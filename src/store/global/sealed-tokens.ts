import { sealedTables } from '../../../db/derived-tables.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { crossAccountQuery, type Db, sealedColumns, type Statement, statement, updatedToken } from '../sql.ts'

export interface StoredToken extends SealedToken {
  /** The account or user that owns the token. */
  owner: string
  id: string
}

/** The context of an account's token, which can be decrypted only for its own row. */
export function accountTokenContext(table: string, account: string, row: string): string {
  return `${table}:${account}:${row}:token`
}

const contexts = {
  totps: (user: string) => `totps:${user}:secret`,
  push_keys: (id: string) => `push_keys:${id}:private`,
  signing_keys: (id: string) => `signing_keys:${id}:private`,
}

/** A table with secrets that belong to no account. */
export type SecretTable = keyof typeof contexts

/** The context of a secret that belongs to no account. `id` is the id of its row, or of the user for `totps`. */
export function secretContext(table: SecretTable, id: string): string {
  return contexts[table](id)
}

/** The sealed tokens of one table. */
export interface SealedTable {
  name: string
  /** The context that binds an encrypted token to its row. */
  context(token: Pick<StoredToken, 'owner' | 'id'>): string
  /** Up to `limit` tokens under keys other than this one, after a position, ordered by owner and id. */
  underOtherKeys(key: string, after: Pick<StoredToken, 'owner' | 'id'>, limit: number): Promise<StoredToken[]>
  byKey(): Promise<{ key: string; tokens: number }[]>
  /** Replaces a token with the same token under another key. Returns no row if it was changed or removed. */
  replace(token: StoredToken, sealed: SealedToken): Statement
}

/** `owner` and `id` are the columns of the primary key. */
const tableOf = (name: string, owner: string, id: string, context: SealedTable['context']) => ({
  name,
  context,
  // If the key id's column is set, the other columns are too.
  underOtherKeys: crossAccountQuery<StoredToken>(
    `tokens of ${name} under other keys`,
    `
    SELECT ${owner} AS owner, ${id} AS id, ${sealedColumns} FROM ${name}
    WHERE token_key_id <> :key AND (${owner}, ${id}) > (:afterOwner, :afterId)
    ORDER BY ${owner}, ${id} LIMIT :limit`,
  ),
  byKey: crossAccountQuery<{ key: string; tokens: number }>(
    `tokens of ${name} by key`,
    `
    SELECT token_key_id AS key, count(*) AS tokens FROM ${name} WHERE token_key_id IS NOT NULL
    GROUP BY token_key_id`,
  ),
  replace: statement(`
    UPDATE ${name} SET ${updatedToken}
    WHERE ${owner} = :owner AND ${id} = :id AND token_key_id = :oldKeyId AND token_iv = :oldIv
    RETURNING ${id}`),
})

const ofAccount = (name: string) =>
  tableOf(name, 'account_id', 'id', ({ owner, id }) => accountTokenContext(name, owner, id))

const tables = [
  ...sealedTables.map(ofAccount),
  tableOf('totps', 'user_id', 'user_id', ({ owner }) => contexts.totps(owner)),
  tableOf('push_keys', 'id', 'id', ({ id }) => contexts.push_keys(id)),
  tableOf('signing_keys', 'id', 'id', ({ id }) => contexts.signing_keys(id)),
]

/** Every table with sealed tokens, for key rotation. */
export const sealedTokens = (db: Db): readonly SealedTable[] =>
  tables.map(({ name, context, underOtherKeys, byKey, replace }) => ({
    name,
    context,
    underOtherKeys: (key, after, limit) =>
      db.all(underOtherKeys, { key, afterOwner: after.owner, afterId: after.id, limit }),
    byKey: () => db.all(byKey),
    replace: (token, sealed) =>
      db.bind(replace, {
        ...sealed,
        owner: token.owner,
        id: token.id,
        oldKeyId: token.tokenKeyId,
        oldIv: token.tokenIv,
      }),
  }))

/** The keys of the stored tokens, each with the number of tokens encrypted with it. */
export async function tokensByKey(tables: readonly Pick<SealedTable, 'byKey'>[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) {
    for (const { key, tokens } of await table.byKey()) counts.set(key, (counts.get(key) ?? 0) + tokens)
  }
  return counts
}
