/** Revoking everything that a user authorized OAuth clients to do, in all accounts. Tokens and fetched keys end with it. */
import {
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  preconditionText,
  type Statement,
  statement,
} from '../sql.ts'
import { givesAccess, joinFetchedKey, joinGrantedAgent } from './oauth-access.ts'

/** How many rows `find` returns. A unit that revokes more counts as this many rows. */
const maxFound = 200

/** A grant that gives its client access, or that can still be exchanged. */
export interface RevocableAccess {
  accountId: string
  id: string
  clientId: string
  clientName: string
  alias: string | null
}

const isLiveOfUser = `oauth_grants.user_id = :user AND oauth_grants.revoked_at IS NULL`
const revocable = `SELECT oauth_grants.account_id, oauth_grants.id, oauth_grants.client_id, oauth_grants.client_name,
    agents.alias
  FROM oauth_grants
  ${joinGrantedAgent()}
  ${joinFetchedKey}
  WHERE ${isLiveOfUser}
    AND (${givesAccess} OR (oauth_grants.code_used_at IS NULL AND oauth_grants.code_expires_at > :at))
  ORDER BY oauth_grants.account_id, oauth_grants.id LIMIT ${maxFound}`
const find = crossAccountQuery<RevocableAccess>('revocable access of a user', revocable)
const requireUnchanged = crossAccountStatement(
  'revocable access of a user, unchanged',
  preconditionText(`(SELECT json_group_array(id) FROM (${revocable})) = :ids`),
)
const revokeGrants = crossAccountStatement(
  'revocation of the grants of a user',
  `UPDATE oauth_grants SET revoked_at = :at WHERE ${isLiveOfUser}`,
)
const revokeGrantsIn = statement(`
  UPDATE oauth_grants SET revoked_at = :at WHERE account_id = :account AND ${isLiveOfUser}`)

export const revocations = (db: Db) => ({
  /** What gives clients access for a user now, ordered by account; at most `maxFound`. */
  find: (user: string, at: number) => db.all(find, { user, at }),
  maxFound,
  /** Fails the unit unless `find` returns these ids, in this order, when it runs. */
  requireUnchanged: (user: string, ids: string[], at: number): Statement =>
    db.bind(requireUnchanged, { user, ids: JSON.stringify(ids), at }),
  /** Revoke every grant of a user in all accounts, also those whose code is not used yet. */
  revokeAll: (user: string, at: number): Statement => ({ ...db.bind(revokeGrants, { user, at }), rows: maxFound }),
  /** The same in one account. */
  revokeInAccount: (accountId: string, user: string, at: number): Statement => ({
    ...db.bind(revokeGrantsIn, { account: accountId, user, at }),
    rows: maxFound,
  }),
})
