import type { AddressRange } from '../../lib/http/client-address.ts'
import { crossAccountQuery, type Db, type Statement, statement } from '../sql.ts'
import { type AttemptLimit, reachedLimit } from './attempts.ts'

/**
 * One self-registration. `address` is the client address that limits count, `claimTokenHash` the SHA-256 of the claim
 * token.
 */
export interface NewSignup {
  id: string
  /** The provisional account that it opens or joins. */
  home: string
  /** The email address that the account must still be open for; null for an account of its own. */
  joinEmail: string | null
  ownerEmail: string
  address: string
  claimTokenHash: string
  at: number
}

/** How many signups a range of client addresses may make since a time. */
export interface SignupLimit extends AddressRange {
  max: number
  since: number
}

const fromAddress = crossAccountQuery<{ n: number; oldest: number | null }>(
  'signups from an address',
  `
  SELECT count(*) AS n, min(created_at) AS oldest FROM signups
  WHERE address BETWEEN :from AND :to AND created_at > :since`,
)
const reachedByAddress = `SELECT 1 FROM json_each(:addressLimits) AS allowed WHERE (
      SELECT count(*) FROM signups AS seen WHERE seen.address BETWEEN allowed.value ->> 'from' AND allowed.value ->> 'to'
        AND seen.created_at > allowed.value ->> 'since'
    ) >= allowed.value ->> 'max'`
const add = statement(`
  INSERT INTO signups (account_id, id, owner_email, address, claim_token_hash, created_at)
  SELECT id, :id, :ownerEmail, :address, :claimTokenHash, :at FROM accounts
  WHERE id = :home AND state = 'provisional' AND (:joinEmail IS NULL OR join_email = :joinEmail)
    AND NOT EXISTS (${reachedByAddress})
    AND NOT EXISTS (${reachedLimit})
  RETURNING id`)

export const signups = (db: Db) => ({
  /** How many signups came from client addresses since a time, and when the oldest of them came. */
  fromAddress: async ({ from, to }: AddressRange, since: number) => (await db.one(fromAddress, { from, to, since }))!,
  /**
   * Record a signup if its account is still open to it and none of the limits is reached. Otherwise it returns no
   * row, and the foreign key of its agent fails the unit.
   */
  add: (signup: NewSignup, addressLimits: SignupLimit[], limits: AttemptLimit[]): Statement =>
    db.bind(add, { ...signup, addressLimits: JSON.stringify(addressLimits), limits: JSON.stringify(limits) }),
})
