/** Users' identities at external providers, with which they may sign in. See docs/people.md, "Single sign-on". */
import type { ssoIdentities } from '../../../db/schema.ts'
import { type Db, precondition, query, type Statement, statement } from '../sql.ts'

type Row = typeof ssoIdentities.$inferSelect
/** An identity at a provider. */
export type Identity = Pick<Row, 'issuer' | 'subject'>
export type LinkedIdentity = Pick<Row, 'issuer' | 'subject' | 'email' | 'createdAt'>

const ofUser = query<LinkedIdentity>(`
  SELECT issuer, subject, email, created_at FROM sso_identities WHERE user_id = :user ORDER BY created_at`)
const requireOfUser = precondition(`EXISTS (
  SELECT 1 FROM sso_identities WHERE issuer = :issuer AND subject = :subject AND user_id = :user)`)
const removeAll = statement(`
  DELETE FROM sso_identities
  WHERE user_id = :user AND issuer || ' ' || subject NOT IN (SELECT value FROM json_each(:kept))`)

export const identities = (db: Db) => ({
  ofUser: (user: string) => db.all(ofUser, { user }),
  /** Fails the unit unless the identity belongs to the user. */
  requireOfUser: (user: string, { issuer, subject }: Identity): Statement =>
    db.bind(requireOfUser, { user, issuer, subject }),
  /** Removes all of the user's identities except `kept`. */
  removeAll: (user: string, kept: readonly Identity[] = []): Statement =>
    db.bind(removeAll, { user, kept: JSON.stringify(kept.map(({ issuer, subject }) => `${issuer} ${subject}`)) }),
})
