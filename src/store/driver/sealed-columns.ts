/** The four columns of a sealed token, which several tables have, in the parts of their statements. */

/** Their names, for a select and for an insert. */
export const sealedColumns = 'encrypted_token, token_iv, token_auth_tag, token_key_id'

/** Their values in an insert. The parameters have the names of the fields of `SealedToken`. */
export const insertedToken = ':encryptedToken, :tokenIv, :tokenAuthTag, :tokenKeyId'

/** The same in an update. */
export const updatedToken = `encrypted_token = :encryptedToken, token_iv = :tokenIv,
    token_auth_tag = :tokenAuthTag, token_key_id = :tokenKeyId`

/** What an insert that finds its row sets: the values that it would have inserted. */
export const excludedToken = `encrypted_token = excluded.encrypted_token, token_iv = excluded.token_iv,
    token_auth_tag = excluded.token_auth_tag, token_key_id = excluded.token_key_id`
