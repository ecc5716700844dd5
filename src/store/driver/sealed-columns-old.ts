/** The four columns of a sealed token, which several tables have, in the parts of their statements. */
import { sql } from 'drizzle-orm'
import type { SealedToken } from '../../lib/key-ring.ts'
import { p } from './binding.ts'

/** The columns of a table that has them, for a select. */
export function sealedColumns<Table extends Record<keyof SealedToken, unknown>>(
  { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId }: Table,
): Pick<Table, keyof SealedToken> {
  return { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId }
}

/** Their values in an insert: placeholders with the names of the fields of `SealedToken`. */
export const insertedToken = {
  encryptedToken: p('encryptedToken'),
  tokenIv: p('tokenIv'),
  tokenAuthTag: p('tokenAuthTag'),
  tokenKeyId: p('tokenKeyId'),
}

/** The same in an update. */
export const updatedToken = {
  encryptedToken: sql`${p('encryptedToken')}`,
  tokenIv: sql`${p('tokenIv')}`,
  tokenAuthTag: sql`${p('tokenAuthTag')}`,
  tokenKeyId: sql`${p('tokenKeyId')}`,
}

/** What an insert that finds its row sets: the values that it would have inserted. */
export const excludedToken = {
  encryptedToken: sql`excluded.encrypted_token`,
  tokenIv: sql`excluded.token_iv`,
  tokenAuthTag: sql`excluded.token_auth_tag`,
  tokenKeyId: sql`excluded.token_key_id`,
}
