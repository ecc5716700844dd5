import { type Db, query, type Statement, statement } from '../sql.ts'

/** One counted event, such as a sign-in. `subject` is the hash of the counted value, such as an address. */
export interface Attempt {
  id: string
  kind: string
  subject: string
}

/** Allows at most `max` attempts of a kind and subject after `since`. */
export interface AttemptLimit {
  kind: string
  subject: string
  max: number
  since: number
}

/** Selects a row if one of the limits in the JSON parameter `limits` is reached. */
const reachedLimit = `SELECT 1 FROM json_each(:limits) AS allowed WHERE (
    SELECT count(*) FROM attempts AS seen WHERE seen.kind = allowed.value ->> 'kind'
      AND seen.subject = allowed.value ->> 'subject' AND seen.created_at > allowed.value ->> 'since'
  ) >= allowed.value ->> 'max'`

const last = query<{ at: number }>(`
  SELECT created_at AS at FROM attempts WHERE kind = :kind AND subject = :subject AND created_at > :since
  ORDER BY created_at DESC LIMIT 1 OFFSET :skip`)
const byId = query(`SELECT id FROM attempts WHERE id = :id`)
const add = statement(`
  INSERT INTO attempts (id, kind, subject, created_at)
  SELECT entry.value ->> 'id', entry.value ->> 'kind', entry.value ->> 'subject', :at
  FROM json_each(:attempts) AS entry WHERE NOT EXISTS (${reachedLimit})
  ON CONFLICT DO NOTHING
  RETURNING id`)
const remove = statement(`DELETE FROM attempts WHERE id = :id`)
const removeAll = statement(`DELETE FROM attempts WHERE kind = :kind AND subject = :subject`)

export const attempts = (db: Db) => ({
  /** Adds all of the attempts, or none if a limit is reached. Returns a row for each one added. */
  add: (list: Attempt[], limits: AttemptLimit[], at: number): Statement => ({
    ...db.bind(add, { attempts: JSON.stringify(list), limits: JSON.stringify(limits), at }),
    rows: list.length,
  }),
  has: async (id: string) => (await db.one(byId, { id })) !== undefined,
  /** If the limit is reached, the time of the attempt that must leave the window before another attempt is allowed. */
  blockedSince: async ({ kind, subject, max, since }: AttemptLimit): Promise<number | undefined> =>
    (await db.one(last, { kind, subject, since, skip: max - 1 }))?.at,
  remove: (id: string): Statement => db.bind(remove, { id }),
  removeAll: (kind: string, subject: string): Statement => db.bind(removeAll, { kind, subject }),
})

/** One self-registration. `address` is the client's. */
interface NewSignup {
  id: string
  home: string
  /** The email address for which the account must still be open. Null for a new account of its own. */
  joinEmail: string | null
  ownerEmail: string
  address: string
  claimTokenHash: string
  at: number
}

const addSignup = statement(`
  INSERT INTO signups (account_id, id, owner_email, address, claim_token_hash, created_at)
  SELECT id, :id, :ownerEmail, :address, :claimTokenHash, :at FROM accounts
  WHERE id = :home AND state = 'provisional' AND (:joinEmail IS NULL OR join_email = :joinEmail)
    AND NOT EXISTS (${reachedLimit})
  RETURNING id`)

export const signups = (db: Db) => ({
  /** Records a signup. If its account is closed or a limit is reached, returns no row, and adding the agent fails. */
  add: (signup: NewSignup, limits: AttemptLimit[]): Statement =>
    db.bind(addSignup, { ...signup, limits: JSON.stringify(limits) }),
})
