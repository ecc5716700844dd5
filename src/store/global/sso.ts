/** Single sign-on: who users are at providers, and the providers of accounts. See docs/security.md, "Single sign-on". */
import type { ssoIdentities, ssoProviders } from '../../../db/schema.ts'
import {
  boolean,
  crossAccountQuery,
  type Db,
  json,
  precondition,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../sql.ts'

type Row = typeof ssoProviders.$inferSelect
/** The provider of an account. `account` is the id of the account. */
export type SsoProvider = Omit<Row, 'accountId'> & { account: string }
/** Who somebody is at a provider. */
export type Identity = Pick<typeof ssoIdentities.$inferSelect, 'issuer' | 'subject'>
export type SsoIdentity = Pick<typeof ssoIdentities.$inferSelect, 'issuer' | 'subject' | 'email' | 'createdAt'>

export const ssoProviderColumns = `account_id AS account, id, name, issuer, client_id, ${sealedColumns}, domain, proof,
  verified_at, missing_since, checked_at, is_required, role_claim, roles, email_claim, is_trusted, scopes, draft`
export const ssoProviderDecoders = { isRequired: boolean, roles: json, isTrusted: boolean }

const signsIn = `verified_at IS NOT NULL AND draft = ''
  AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = sso_providers.account_id AND accounts.deleted_at IS NOT NULL)`
const provider = crossAccountQuery<SsoProvider>(
  'provider of single sign-on',
  `SELECT ${ssoProviderColumns} FROM sso_providers WHERE id = :id AND ${signsIn}`,
  ssoProviderDecoders,
)
const byIdAnyway = crossAccountQuery<SsoProvider>(
  'provider of single sign-on',
  `SELECT ${ssoProviderColumns} FROM sso_providers WHERE id = :id`,
  ssoProviderDecoders,
)
const ofDomain = crossAccountQuery<Pick<SsoProvider, 'id' | 'name' | 'issuer' | 'isTrusted' | 'domain'>>(
  'provider of single sign-on',
  `SELECT id, name, issuer, is_trusted, domain FROM sso_providers
  WHERE domain = :domain AND ${signsIn}`,
  { isTrusted: boolean },
)
const anyVerified = crossAccountQuery<{ domain: string }>(
  'provider of single sign-on',
  `SELECT domain FROM sso_providers WHERE domain > '' AND ${signsIn} LIMIT 1`,
)
const toCheck = crossAccountQuery<{ account: string }>(
  'domains to be checked',
  `
  SELECT account_id AS account FROM sso_providers WHERE checked_at <= :until AND verified_at IS NOT NULL
  ORDER BY checked_at LIMIT :limit`,
)
const userOf = query<{ userId: string }>(`
  SELECT user_id FROM sso_identities WHERE issuer = :issuer AND subject = :subject`)
const identitiesOf = query<SsoIdentity>(`
  SELECT issuer, subject, email, created_at FROM sso_identities WHERE user_id = :user ORDER BY created_at`)

const addIdentity = statement(`
  INSERT INTO sso_identities (issuer, subject, user_id, email, created_at)
  VALUES (:issuer, :subject, :user, :email, :at)
  ON CONFLICT DO NOTHING`)
const requireIdentity = precondition(`EXISTS (
  SELECT 1 FROM sso_identities WHERE issuer = :issuer AND subject = :subject AND user_id = :user)`)
const removeIdentity = statement(`
  DELETE FROM sso_identities WHERE issuer = :issuer AND subject = :subject AND user_id = :user`)
const beganBy = 'user_id = :user AND sso_issuer = :issuer AND sso_subject = :subject'
const endSessionsOf = statement(`
  UPDATE sessions SET ended_at = :at WHERE ${beganBy} AND id <> :except AND ended_at IS NULL`)
const forgetIdentity = statement(`
  UPDATE sessions SET sso_issuer = NULL, sso_subject = NULL WHERE ${beganBy} AND id = :except`)
const removeIdentities = statement(`
  DELETE FROM sso_identities
  WHERE user_id = :user AND issuer || ' ' || subject NOT IN (SELECT value FROM json_each(:kept))`)

export const sso = (db: Db) => ({
  /** The provider of an account, if it signs people in. */
  provider: (id: string) => db.one(provider, { id }),
  /** Also a draft, and without a verified domain. */
  anyProvider: (id: string) => db.one(byIdAnyway, { id }),
  /** That of the account that has verified the domain of an email address. */
  ofDomain: (domain: string) => db.one(ofDomain, { domain }),
  /** Whether any account has a provider that signs people in. */
  hasAny: async () => await db.one(anyVerified, {}) !== undefined,
  /** Accounts with a verified domain that was looked up by `until`, the longest ago first. */
  toCheck: (until: number, limit: number) => db.all(toCheck, { until, limit }),
  userOf: async (issuer: string, subject: string) => (await db.one(userOf, { issuer, subject }))?.userId,
  identitiesOf: (user: string) => db.all(identitiesOf, { user }),
  /** `email` is the address that the issuer tells. Fails the unit if the identity is that of another user. */
  addIdentity: (user: string, { issuer, subject }: Identity, email: string | null, at: number): Statement[] => [
    db.bind(addIdentity, { user, issuer, subject, email, at }),
    db.bind(requireIdentity, { user, issuer, subject }),
  ],
  /** Fails the unit unless the identity is one of the user. */
  requireIdentity: (user: string, { issuer, subject }: Identity): Statement =>
    db.bind(requireIdentity, { user, issuer, subject }),
  /** With the sessions that it has begun, except one, which goes on without it. */
  removeIdentity: (user: string, { issuer, subject }: Identity, except: string, at: number): Statement[] => {
    const identity = { user, issuer, subject }
    return [
      db.bind(removeIdentity, identity),
      db.bind(endSessionsOf, { ...identity, except, at }),
      db.bind(forgetIdentity, { ...identity, except }),
    ]
  },
  removeIdentities: (user: string, kept: readonly Identity[] = []): Statement =>
    db.bind(removeIdentities, {
      user,
      kept: JSON.stringify(kept.map(({ issuer, subject }) => `${issuer} ${subject}`)),
    }),
})
