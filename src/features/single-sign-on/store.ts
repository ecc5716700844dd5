/** Single sign-on: accounts' providers, and users' identities. See docs/people.md, "Single sign-on". */
import type { SignInReport, ssoProviders, ssoSignIns } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { identities, type Identity } from '../../store/global/identities.ts'
import {
  type AccountDb,
  boolean,
  crossAccountQuery,
  type Db,
  excludedToken,
  insertedToken,
  json,
  precondition,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../../store/sql.ts'

export type { SignInReport }
type Row = typeof ssoProviders.$inferSelect
/** An account's provider. `account` is the account's id. */
export type SsoProvider = Omit<Row, 'accountId'> & { account: string }

const providerColumns = `account_id AS account, id, name, issuer, client_id, ${sealedColumns}, domain, proof,
  verified_at, missing_since, checked_at, is_required, role_claim, roles, email_claim, is_trusted, scopes, draft`
const providerDecoders = { isRequired: boolean, roles: json, isTrusted: boolean }

const signsIn = `verified_at IS NOT NULL AND draft = ''
  AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = sso_providers.account_id AND accounts.deleted_at IS NOT NULL)`
const provider = crossAccountQuery<SsoProvider>(
  'provider of single sign-on',
  `SELECT ${providerColumns} FROM sso_providers WHERE id = :id AND ${signsIn}`,
  providerDecoders,
)
const byIdAnyway = crossAccountQuery<SsoProvider>(
  'provider of single sign-on',
  `SELECT ${providerColumns} FROM sso_providers WHERE id = :id`,
  providerDecoders,
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

const addIdentity = statement(`
  INSERT INTO sso_identities (issuer, subject, user_id, email, created_at)
  VALUES (:issuer, :subject, :user, :email, :at)
  ON CONFLICT DO NOTHING`)
const removeIdentity = statement(`
  DELETE FROM sso_identities WHERE issuer = :issuer AND subject = :subject AND user_id = :user`)
const beganBy = 'user_id = :user AND sso_issuer = :issuer AND sso_subject = :subject'
const endSessionsOf = statement(`
  UPDATE sessions SET ended_at = :at WHERE ${beganBy} AND id <> :except AND ended_at IS NULL`)
const forgetIdentity = statement(`
  UPDATE sessions SET sso_issuer = NULL, sso_subject = NULL WHERE ${beganBy} AND id = :except`)

/** Statements that concern several accounts, or users. */
export const allSso = (db: Db) => ({
  /** An account's provider, if people can sign in with it. */
  provider: (id: string) => db.one(provider, { id }),
  /** Finds any provider, including drafts and those without a verified domain. */
  anyProvider: (id: string) => db.one(byIdAnyway, { id }),
  /** The provider of the account that has verified an email address's domain. */
  ofDomain: (domain: string) => db.one(ofDomain, { domain }),
  /** Whether people can sign in with any account's provider. */
  hasAny: async () => await db.one(anyVerified, {}) !== undefined,
  /** Accounts with a verified domain that was last looked up at or before `until`, least recent first. */
  toCheck: (until: number, limit: number) => db.all(toCheck, { until, limit }),
  userOf: async (issuer: string, subject: string) => (await db.one(userOf, { issuer, subject }))?.userId,
  /** Fails the unit if the identity belongs to another user. `email` is the address from the issuer. */
  addIdentity: (user: string, { issuer, subject }: Identity, email: string | null, at: number): Statement[] => [
    db.bind(addIdentity, { user, issuer, subject, email, at }),
    identities(db).requireOfUser(user, { issuer, subject }),
  ],
  /** Removes an identity and ends the sessions that it started. The session `except` continues without the identity. */
  removeIdentity: (user: string, { issuer, subject }: Identity, except: string, at: number): Statement[] => {
    const identity = { user, issuer, subject }
    return [
      db.bind(removeIdentity, identity),
      db.bind(endSessionsOf, { ...identity, except, at }),
      db.bind(forgetIdentity, { ...identity, except }),
    ]
  },
})

/** A person who signs in through the account's provider, with their address and identity there. */
export interface Comer {
  user: string
  email: string
  issuer: string
  subject: string
}

type NewProvider =
  & Pick<SsoProvider, 'id' | 'name' | 'issuer' | 'clientId' | 'domain' | 'proof' | 'roleClaim' | 'roles'>
  & Partial<Pick<SsoProvider, 'emailClaim' | 'isTrusted' | 'scopes' | 'draft'>>

type SignInRow = typeof ssoSignIns.$inferSelect
/** A sign-in with the provider, as shown to owners. */
export type ListedSignIn = Pick<SignInRow, 'userId' | 'at' | 'outcome' | 'report'>
/** A domain whose record is missing. */
export interface MissingDomain {
  domain: string
  missingSince: number
  verifiedAt: number | null
}
export type NewSignIn = Omit<SignInRow, 'accountId'>

const get = query<SsoProvider>(
  `SELECT ${providerColumns} FROM sso_providers WHERE account_id = :account`,
  providerDecoders,
)
const missing = query<MissingDomain>(`
  SELECT domain, missing_since, verified_at FROM sso_providers
  WHERE account_id = :account AND missing_since IS NOT NULL`)
// A changed domain must be verified first. Until then, members need not use the provider.
const save = statement(`
  INSERT INTO sso_providers
    (account_id, id, name, issuer, client_id, ${sealedColumns}, domain, proof, role_claim, roles,
      email_claim, is_trusted, scopes, draft)
  VALUES (:account, :id, :name, :issuer, :clientId, ${insertedToken}, :domain, :proof, :roleClaim, :roles,
    :emailClaim, :isTrusted, :scopes, :draft)
  ON CONFLICT (account_id, id) DO UPDATE SET name = excluded.name, issuer = excluded.issuer,
    client_id = excluded.client_id, ${excludedToken}, role_claim = excluded.role_claim, roles = excluded.roles,
    email_claim = excluded.email_claim, is_trusted = excluded.is_trusted, scopes = excluded.scopes,
    draft = excluded.draft,
    verified_at = iif(domain = excluded.domain, verified_at, NULL),
    missing_since = iif(domain = excluded.domain, missing_since, NULL),
    is_required = iif(domain = excluded.domain, is_required, 0), domain = excluded.domain`)
const setVerified = statement(`
  UPDATE sso_providers SET verified_at = :verifiedAt, missing_since = :missingSince, checked_at = :at
  WHERE account_id = :account AND domain = :domain`)
const requireVerified = precondition(`EXISTS (
  SELECT 1 FROM sso_providers
  WHERE account_id = :account AND domain = :domain AND verified_at IS NOT NULL AND draft = '')`)
const require = statement(`UPDATE sso_providers SET is_required = 1 WHERE account_id = :account`)
const remove = statement(`DELETE FROM sso_providers WHERE account_id = :account`)
const maxRefused = 50
const signIns = query<ListedSignIn>(
  `
  SELECT user_id, at, outcome, report FROM sso_sign_ins WHERE account_id = :account
  ORDER BY outcome = 'removed' DESC, at DESC LIMIT :limit`,
  { report: json },
)
// The user of an identity is stored, so that a removed member cannot return as another user.
const addSignIn = statement(`
  INSERT INTO sso_sign_ins (account_id, issuer, subject, user_id, at, outcome, report)
  VALUES (:account, :issuer, :subject, :userId, :at, :outcome, :report)
  ON CONFLICT (account_id, issuer, subject) DO UPDATE SET user_id = coalesce(excluded.user_id, user_id),
    at = excluded.at, outcome = excluded.outcome, report = excluded.report`)
const removeOldSignIns = statement(`
  DELETE FROM sso_sign_ins WHERE account_id = :account AND user_id IS NULL AND at < (
    SELECT newer.at FROM sso_sign_ins AS newer WHERE newer.account_id = :account AND newer.user_id IS NULL
    ORDER BY newer.at DESC LIMIT 1 OFFSET ${maxRefused - 1})`)
const letInSignIns = statement(`
  UPDATE sso_sign_ins SET outcome = 'ok' WHERE account_id = :account AND user_id = :user AND outcome = 'removed'`)
// Also finds a removed member who has changed their address, unlinked the identity or obtained another one, so that
// they cannot return as a new user.
const isRemoval = `removed_members.account_id = :account AND (
    removed_members.user_id = :user OR removed_members.email = :email
    OR removed_members.user_id IN (
      SELECT sso_sign_ins.user_id FROM sso_sign_ins WHERE sso_sign_ins.account_id = :account
        AND (sso_sign_ins.issuer = :issuer AND sso_sign_ins.subject = :subject
          OR sso_sign_ins.report ->> 'email' = :email AND sso_sign_ins.report ->> 'isVerified')))`
const removalOf = query<{ userId: string; removedAt: number }>(
  `SELECT user_id, removed_at FROM removed_members WHERE ${isRemoval} LIMIT 1`,
)
const requireNotRemoved = precondition(`NOT EXISTS (SELECT 1 FROM removed_members WHERE ${isRemoval})`)
const endSessions = statement(`
  UPDATE sessions SET ended_at = :at WHERE only_account = :account AND ended_at IS NULL`)

/** Statements of one account. */
export const ssoTables = {
  reads: (account: AccountDb) => ({
    get: () => account.one(get),
    /** The account's domain, if its record is missing. */
    missing: () => account.all(missing),
    /** The latest sign-ins. Sign-ins of removed members come first. */
    signIns: (limit: number) => account.all(signIns, { limit }),
    /** The removed member who signs in with the provider, even if they appear as another user. */
    removalOf: (comer: Comer) => account.one(removalOf, { ...comer }),
  }),
  changes: (account: AccountDb) => ({
    /** Fails with a constraint error if the account has a provider under another id. */
    save: (
      { roles, emailClaim = '', isTrusted = false, scopes = '', draft = '', ...provider }: NewProvider,
      secret: SealedToken,
    ): Statement =>
      account.bind(save, {
        ...{ ...provider, ...secret, emailClaim, isTrusted, scopes, draft, roles: JSON.stringify(roles) },
      }),
    /** Fails with a constraint error if another account has verified the domain. */
    setVerified: (
      state: { domain: string; verifiedAt: number | null; missingSince: number | null },
      at: number,
    ): Statement => account.bind(setVerified, { ...state, at }),
    /** Fails the unit unless people of the domain can sign in with the provider. */
    requireVerified: (domain: string): Statement => account.bind(requireVerified, { domain }),
    /** Requires members to sign in with the provider. `team.stopRequiringProvider` reverts this. */
    require: (): Statement => account.bind(require, {}),
    remove: (): Statement => account.bind(remove, {}),
    /** Records the claims of a sign-in. For refused people, only the latest sign-ins are stored. */
    addSignIn: ({ report, ...signIn }: NewSignIn): Statement[] => [
      account.bind(addSignIn, { ...signIn, report: JSON.stringify(report) }),
      account.bind(removeOldSignIns, {}),
    ],
    /** Marks a readmitted member's sign-ins as accepted. */
    letInSignIns: (user: string): Statement => account.bind(letInSignIns, { user }),
    requireNotRemoved: (comer: Comer): Statement => account.bind(requireNotRemoved, { ...comer }),
    /** Ends the sessions that the provider started. */
    endSessions: (at: number): Statement => account.bind(endSessions, { at }),
  }),
}
