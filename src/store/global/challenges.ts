/** Challenges that a browser must answer once: for passkeys, and for sign-ins that continue at a provider. */
import type { signInChallenges } from '../../../db/schema.ts'
import { type Db, type Statement, statement } from '../sql.ts'

export type ChallengePurpose = typeof signInChallenges.$inferSelect.purpose

const add = statement(`
  INSERT INTO sign_in_challenges (hash, purpose, holder, expires_at) VALUES (:hash, :purpose, :holder, :expiresAt)
  ON CONFLICT DO NOTHING`)
const take = statement(`
  UPDATE sign_in_challenges SET used_by = :attempt
  WHERE hash = :hash AND purpose = :purpose AND holder = :holder AND expires_at > :at
    AND (used_by IS NULL OR used_by = :attempt)
  RETURNING hash`)

export const challenges = (db: Db) => ({
  add: (
    challenge: { hash: string; purpose: ChallengePurpose; holder: string; expiresAt: number },
  ): Statement => db.bind(add, { ...challenge }),
  /** Consumes a challenge. Returns no row if it is unknown, expired, used, or has another purpose or holder. */
  take: (
    hash: string,
    purpose: ChallengePurpose,
    holder: string,
    attempt: string,
    at: number,
  ): Statement => db.bind(take, { hash, purpose, holder, attempt, at }),
})
