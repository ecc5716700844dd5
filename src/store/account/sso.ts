/** The provider with which people sign in to the account. */
import type { SealedToken } from '../../lib/key-ring.ts'
import { type SsoProvider, ssoProviderColumns, ssoProviderDecoders } from '../global/sso.ts'
import {
  type AccountDb,
  excludedToken,
  insertedToken,
  precondition,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../sql.ts'

type NewProvider = Pick<SsoProvider, 'id' | 'name' | 'issuer' | 'clientId' | 'domain' | 'proof' | 'roleClaim' | 'roles'>

const get = query<SsoProvider>(
  `SELECT ${ssoProviderColumns} FROM sso_providers WHERE account_id = :account`,
  ssoProviderDecoders,
)
const missing = query<{ domain: string; missingSince: number; verifiedAt: number | null }>(`
  SELECT domain, missing_since, verified_at FROM sso_providers
  WHERE account_id = :account AND missing_since IS NOT NULL`)
// Another domain is to be verified first, and the account is open until then.
const save = statement(`
  INSERT INTO sso_providers (account_id, id, name, issuer, client_id, ${sealedColumns}, domain, proof, role_claim, roles)
  VALUES (:account, :id, :name, :issuer, :clientId, ${insertedToken}, :domain, :proof, :roleClaim, :roles)
  ON CONFLICT (account_id, id) DO UPDATE SET name = excluded.name, issuer = excluded.issuer,
    client_id = excluded.client_id, ${excludedToken}, role_claim = excluded.role_claim, roles = excluded.roles,
    verified_at = iif(domain = excluded.domain, verified_at, NULL),
    missing_since = iif(domain = excluded.domain, missing_since, NULL),
    is_required = iif(domain = excluded.domain, is_required, 0), domain = excluded.domain`)
const setVerified = statement(`
  UPDATE sso_providers SET verified_at = :verifiedAt, missing_since = :missingSince, checked_at = :at
  WHERE account_id = :account AND domain = :domain`)
const requireVerified = precondition(
  `EXISTS (SELECT 1 FROM sso_providers WHERE account_id = :account AND verified_at IS NOT NULL)`,
)
const setRequired = statement(`UPDATE sso_providers SET is_required = :isRequired WHERE account_id = :account`)
const remove = statement(`DELETE FROM sso_providers WHERE account_id = :account`)
const endSessions = statement(`
  UPDATE sessions SET ended_at = :at WHERE only_account = :account AND ended_at IS NULL`)

export const sso = {
  reads: (account: AccountDb) => ({
    get: () => account.one(get),
    /** The domain, if its record is not found any more. */
    missing: () => account.all(missing),
  }),
  changes: (account: AccountDb) => ({
    /** A constraint error if the account has a provider under another id. */
    save: ({ roles, ...provider }: NewProvider, secret: SealedToken): Statement =>
      account.bind(save, { ...provider, ...secret, roles: JSON.stringify(roles) }),
    /** A constraint error if another account has verified the domain. */
    setVerified: (
      state: { domain: string; verifiedAt: number | null; missingSince: number | null },
      at: number,
    ): Statement => account.bind(setVerified, { ...state, at }),
    requireVerified: (): Statement => account.bind(requireVerified, {}),
    setRequired: (isRequired: boolean): Statement => account.bind(setRequired, { isRequired }),
    remove: (): Statement => account.bind(remove, {}),
    /** End the sessions that the provider has begun. */
    endSessions: (at: number): Statement => account.bind(endSessions, { at }),
  }),
}
