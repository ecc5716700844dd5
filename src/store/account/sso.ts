/** The provider with which people sign in to the account. */
import type { SignInReport, ssoSignIns } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { type SsoProvider, ssoProviderColumns, ssoProviderDecoders } from '../global/sso.ts'
import {
  type AccountDb,
  excludedToken,
  insertedToken,
  json,
  precondition,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../sql.ts'

type NewProvider =
  & Pick<SsoProvider, 'id' | 'name' | 'issuer' | 'clientId' | 'domain' | 'proof' | 'roleClaim' | 'roles'>
  & Partial<Pick<SsoProvider, 'emailClaim' | 'isTrusted' | 'scopes' | 'draft'>>

export type { SignInReport }
type SignInRow = typeof ssoSignIns.$inferSelect
/** A sign-in with the provider, as owners see it. */
export type ListedSignIn = Pick<SignInRow, 'userId' | 'at' | 'outcome' | 'report'>
export type NewSignIn = Omit<SignInRow, 'accountId'>

const get = query<SsoProvider>(
  `SELECT ${ssoProviderColumns} FROM sso_providers WHERE account_id = :account`,
  ssoProviderDecoders,
)
const missing = query<{ domain: string; missingSince: number; verifiedAt: number | null }>(`
  SELECT domain, missing_since, verified_at FROM sso_providers
  WHERE account_id = :account AND missing_since IS NOT NULL`)
// Another domain is to be verified first, and the account is open until then.
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
const setRequired = statement(`UPDATE sso_providers SET is_required = :isRequired WHERE account_id = :account`)
const remove = statement(`DELETE FROM sso_providers WHERE account_id = :account`)
const maxRefused = 50
const signIns = query<ListedSignIn>(
  `
  SELECT user_id, at, outcome, report FROM sso_sign_ins WHERE account_id = :account
  ORDER BY outcome = 'removed' DESC, at DESC LIMIT :limit`,
  { report: json },
)
// Which user an identity was stays known, so that a removed member does not come back as another one.
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
const endSessions = statement(`
  UPDATE sessions SET ended_at = :at WHERE only_account = :account AND ended_at IS NULL`)

export const sso = {
  reads: (account: AccountDb) => ({
    get: () => account.one(get),
    /** The domain, if its record is not found any more. */
    missing: () => account.all(missing),
    /** The newest sign-ins, those of removed members first. */
    signIns: (limit: number) => account.all(signIns, { limit }),
  }),
  changes: (account: AccountDb) => ({
    /** A constraint error if the account has a provider under another id. */
    save: (
      { roles, emailClaim = '', isTrusted = false, scopes = '', draft = '', ...provider }: NewProvider,
      secret: SealedToken,
    ): Statement =>
      account.bind(save, {
        ...{ ...provider, ...secret, emailClaim, isTrusted, scopes, draft, roles: JSON.stringify(roles) },
      }),
    /** A constraint error if another account has verified the domain. */
    setVerified: (
      state: { domain: string; verifiedAt: number | null; missingSince: number | null },
      at: number,
    ): Statement => account.bind(setVerified, { ...state, at }),
    /** Fails the unit unless the provider signs people of the domain in. */
    requireVerified: (domain: string): Statement => account.bind(requireVerified, { domain }),
    setRequired: (isRequired: boolean): Statement => account.bind(setRequired, { isRequired }),
    remove: (): Statement => account.bind(remove, {}),
    /** Keep what the provider said. Of people who were refused, only the newest sign-ins are kept. */
    addSignIn: ({ report, ...signIn }: NewSignIn): Statement[] => [
      account.bind(addSignIn, { ...signIn, report: JSON.stringify(report) }),
      account.bind(removeOldSignIns, {}),
    ],
    /** The sign-ins of a removed member no longer ask to be let in. */
    letInSignIns: (user: string): Statement => account.bind(letInSignIns, { user }),
    /** End the sessions that the provider has begun. */
    endSessions: (at: number): Statement => account.bind(endSessions, { at }),
  }),
}
