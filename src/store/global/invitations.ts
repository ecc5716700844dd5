import type { Role } from '../../auth/actor.ts'
import { boolean, crossAccountQuery, crossAccountStatement, type Db, type Statement } from '../sql.ts'

/** An invitation that can be accepted, as shown to the holder of its link. */
export interface OpenInvitation {
  id: string
  account: { id: string; name: string }
  email: string
  role: Role
  /** The name of the inviting user, or the email address without a name. */
  invitedBy: string
  expiresAt: number
  isLinkShown: boolean
}

const byToken = crossAccountQuery<Omit<OpenInvitation, 'account'> & { accountId: string; accountName: string }>(
  'invitation by token',
  `
  SELECT invitations.id, accounts.id AS account_id, accounts.name AS account_name, invitations.email, invitations.role,
    coalesce(nullif(users.name, ''), users.email) AS invited_by, invitations.expires_at, invitations.is_link_shown
  FROM invitations
  JOIN accounts ON accounts.id = invitations.account_id
  JOIN users ON users.id = invitations.invited_by
  WHERE invitations.token_hash = :hash AND invitations.accepted_at IS NULL AND invitations.ended_at IS NULL
    AND invitations.expires_at > :now`,
  { isLinkShown: boolean },
)
const removeExpired = crossAccountStatement(
  'expired invitations',
  `
  DELETE FROM invitations
  WHERE rowid IN (SELECT rowid FROM invitations WHERE expires_at <= :until LIMIT :limit)
  RETURNING id`,
)

export const invitations = (db: Db) => ({
  /** The invitation with this SHA-256, if it can still be accepted. The caller does not belong to its account yet. */
  byToken: async (hash: string, now: number): Promise<OpenInvitation | undefined> => {
    const row = await db.one(byToken, { hash, now })
    if (!row) return undefined
    const { accountId, accountName, ...invitation } = row
    return { ...invitation, account: { id: accountId, name: accountName } }
  },
  /**
   * Deletes at most `limit` invitations that expired by `until`, accepted or not. Returns a row for each one deleted.
   */
  removeExpired: (until: number, limit: number): Statement => ({
    ...db.bind(removeExpired, { until, limit }),
    rows: limit,
  }),
})
