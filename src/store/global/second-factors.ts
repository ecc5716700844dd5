/** Users' passkeys, authenticator apps and recovery codes. */
import type { SealedToken } from '../../lib/key-ring.ts'
import {
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  excludedToken,
  insertedToken,
  json,
  precondition,
  preconditionText,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../sql.ts'

interface NewPasskey {
  id: string
  userId: string
  /** Base64url, as sent by the browser. */
  credentialId: string
  /** COSE, in base64url. */
  publicKey: string
  counter: number
  transports: string[]
  name: string
}

export interface Passkey extends NewPasskey {
  createdAt: number
  lastUsedAt: number | null
}

/** A user's authenticator app, confirmed or not. */
export interface StoredTotp extends SealedToken {
  confirmedAt: number | null
}

/** Condition: a user has a passkey or a confirmed authenticator app. `user` is SQL of the user's id. */
export function hasSecondFactor(user: string): string {
  return `(EXISTS (SELECT 1 FROM passkeys WHERE passkeys.user_id = ${user})
    OR EXISTS (SELECT 1 FROM totps WHERE totps.user_id = ${user} AND totps.confirmed_at IS NOT NULL))`
}

const passkeyFields = `id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at`
const passkeysOf = query<Passkey>(
  `SELECT ${passkeyFields} FROM passkeys WHERE user_id = :user ORDER BY created_at, id`,
  { transports: json },
)
const passkeyByCredential = query<Passkey>(
  `SELECT ${passkeyFields} FROM passkeys WHERE credential_id = :credential`,
  { transports: json },
)
const totpOf = query<StoredTotp>(`SELECT ${sealedColumns}, confirmed_at FROM totps WHERE user_id = :user`)
const codesOf = query<{ n: number }>(`
  SELECT count(*) AS n FROM recovery_codes WHERE user_id = :user AND used_by IS NULL`)

// A user's accounts in which the caller is not an owner.
const accountsNotOwned = `SELECT memberships.account_id FROM memberships
  WHERE memberships.user_id = :user AND NOT EXISTS (
    SELECT 1 FROM memberships AS own
    WHERE own.account_id = memberships.account_id AND own.user_id = :owner AND own.role = 'owner')`
const findNotOwned = crossAccountQuery(
  'accounts of a user that another user does not own',
  `${accountsNotOwned} LIMIT 1`,
)
const requireOwned = crossAccountStatement(
  'accounts of a user are owned by another user',
  preconditionText(`NOT EXISTS (${accountsNotOwned})`),
)

// Rows store the id of the attempt that added or used them, so that a retried unit succeeds again.
const addPasskey = statement(`
  INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, name, created_at)
  VALUES (:id, :userId, :credentialId, :publicKey, :counter, :transports, :name, :at)
  ON CONFLICT (id) DO NOTHING`)
const usePasskey = statement(`
  UPDATE passkeys SET counter = :counter, last_used_at = :at, used_by = :attempt
  WHERE id = :id AND (counter < :counter OR (counter = 0 AND :counter = 0) OR used_by = :attempt)
  RETURNING id`)
const removePasskey = statement(`DELETE FROM passkeys WHERE user_id = :user AND id = :id RETURNING id`)

const setTotp = statement(`
  INSERT INTO totps (user_id, ${sealedColumns}, created_at) VALUES (:user, ${insertedToken}, :at)
  ON CONFLICT (user_id) DO UPDATE SET ${excludedToken}, last_step = 0, created_at = excluded.created_at
  WHERE totps.confirmed_at IS NULL
  RETURNING user_id`)
// Matches only the secret with which the code was checked, because a new set-up may have replaced that secret.
const isTotp = `user_id = :user AND token_iv = :iv`
const isNewStep = `last_step < :step`
const isPending = `(${isNewStep} AND confirmed_at IS NULL)`
const useTotp = statement(`
  UPDATE totps SET last_step = :step, used_by = :attempt
  WHERE ${isTotp} AND confirmed_at IS NOT NULL AND (${isNewStep} OR used_by = :attempt)
  RETURNING user_id`)
const confirmTotp = statement(`
  UPDATE totps SET last_step = :step, used_by = :attempt, confirmed_at = :at WHERE ${isTotp} AND ${isPending}`)
const requirePendingTotp = precondition(
  `EXISTS (SELECT 1 FROM totps WHERE ${isTotp} AND (${isPending} OR used_by = :attempt))`,
)
// Excludes the factor that the unit itself adds, because a retried unit may find it already stored.
const hasOther = `(EXISTS (SELECT 1 FROM passkeys WHERE user_id = :user AND id <> :attempt)
    OR EXISTS (SELECT 1 FROM totps WHERE user_id = :user AND confirmed_at IS NOT NULL AND used_by IS NOT :attempt))`
const requireOther = precondition(hasOther)
const requireNoOther = precondition(`NOT ${hasOther}`)
const removeTotp = statement(`DELETE FROM totps WHERE user_id = :user RETURNING user_id`)

const addCodes = statement(`
  INSERT INTO recovery_codes (user_id, hash) SELECT :user, value FROM json_each(:hashes)`)
const useCode = statement(`
  UPDATE recovery_codes SET used_by = :attempt
  WHERE user_id = :user AND hash = :hash AND (used_by IS NULL OR used_by = :attempt)
  RETURNING user_id`)
const removeCodes = statement(`DELETE FROM recovery_codes WHERE user_id = :user`)
const removeAllPasskeys = statement(`DELETE FROM passkeys WHERE user_id = :user`)
const removeCodesWithoutFactor = statement(`
  DELETE FROM recovery_codes WHERE user_id = :user AND NOT ${hasSecondFactor(':user')}`)

export const secondFactors = (db: Db) => ({
  passkeysOf: (user: string) => db.all(passkeysOf, { user }),
  passkeyByCredential: (credential: string) => db.one(passkeyByCredential, { credential }),
  /** A user's authenticator app, even if its set-up is unfinished. */
  totpOf: (user: string) => db.one(totpOf, { user }),
  codesOf: async (user: string) => (await db.one(codesOf, { user }))!.n,
  /** Whether a user belongs to an account that `owner` does not own. */
  isBeyond: async (owner: string, user: string) => (await db.one(findNotOwned, { owner, user })) !== undefined,
  requireOwned: (owner: string, user: string): Statement => db.bind(requireOwned, { owner, user }),

  /** Fails with a constraint error if the passkey is already registered, under another id. */
  addPasskey: ({ transports, ...passkey }: NewPasskey, at: number): Statement =>
    db.bind(addPasskey, { ...passkey, transports: JSON.stringify(transports), at }),
  /** Returns no row if the passkey was removed or its counter has advanced. */
  usePasskey: (id: string, counter: number, attempt: string, at: number): Statement =>
    db.bind(usePasskey, { id, counter, attempt, at }),
  removePasskey: (user: string, id: string): Statement => db.bind(removePasskey, { user, id }),

  /** Starts a set-up. Returns no row if the user has a confirmed authenticator app. */
  setTotp: (user: string, secret: SealedToken, at: number): Statement => db.bind(setTotp, { user, ...secret, at }),
  /** Consumes the code of a time step. Returns no row if this or a later step was used. `iv` belongs to the secret. */
  useTotp: (user: string, iv: string, step: number, attempt: string): Statement =>
    db.bind(useTotp, { user, iv, step, attempt }),
  /** Finishes a set-up with two statements. The first fails the unit if the set-up is no longer pending. */
  confirmTotp: (user: string, iv: string, step: number, attempt: string, at: number): Statement[] => [
    db.bind(requirePendingTotp, { user, iv, step, attempt }),
    db.bind(confirmTotp, { user, iv, step, attempt, at }),
  ],
  /** Fails the unit unless the user has (with `isFirst`: lacks) a factor other than `own`, which the unit adds. */
  requireFirst: (user: string, own: string, isFirst: boolean): Statement =>
    db.bind(isFirst ? requireNoOther : requireOther, { user, attempt: own }),
  removeTotp: (user: string): Statement => db.bind(removeTotp, { user }),

  setCodes: (user: string, hashes: string[]): Statement[] => [
    db.bind(removeCodes, { user }),
    { ...db.bind(addCodes, { user, hashes: JSON.stringify(hashes) }), rows: hashes.length },
  ],
  useCode: (user: string, hash: string, attempt: string): Statement => db.bind(useCode, { user, hash, attempt }),
  /** Removes the recovery codes of a user without any second factor. */
  removeCodesWithoutFactor: (user: string): Statement => db.bind(removeCodesWithoutFactor, { user }),
  removeAll: (user: string): Statement[] =>
    [removeAllPasskeys, removeTotp, removeCodes].map((query) => db.bind(query, { user })),
})
