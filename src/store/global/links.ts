import type { links as table } from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import { boolean, crossAccountQuery, type Db, precondition, query, type Statement, statement } from '../sql.ts'

export type LinkKind = typeof table.$inferSelect.kind

interface NewLink {
  id: string
  kind: LinkKind
  tokenHash: string
  userId: string | null
  email: string | null
  expiresAt: number
}

const isOpen = `token_hash = :hash AND kind = :kind AND used_at IS NULL AND expires_at > :now`
const byToken = query<Pick<NewLink, 'id' | 'userId' | 'email'>>(`SELECT id, user_id, email FROM links WHERE ${isOpen}`)
const requireOpen = precondition(`EXISTS (SELECT 1 FROM links WHERE ${isOpen})`)
const add = statement(`
  INSERT INTO links (id, kind, token_hash, user_id, email, created_at, expires_at)
  VALUES (:id, :kind, :tokenHash, :userId, :email, :at, :expiresAt)
  ON CONFLICT DO NOTHING`)
const use = statement(`UPDATE links SET used_at = :now WHERE ${isOpen}`)
// `IS` also matches links without a user.
const endOpen = statement(`UPDATE links SET used_at = :at WHERE user_id IS :user AND kind = :kind AND used_at IS NULL`)
// A claim's link has no user, because there may be none yet. It signs in the user who has the link's email address.
const endAll = statement(`
  UPDATE links SET used_at = :at
  WHERE used_at IS NULL AND (user_id = :user OR (
    user_id IS NULL AND kind = 'claim' AND email = (SELECT users.email FROM users WHERE users.id = :user)))`)

export const links = (db: Db) => ({
  byToken: (kind: LinkKind, hash: string, now: number) => db.one(byToken, { kind, hash, now }),
  add: (link: NewLink, at: number): Statement => db.bind(add, { ...link, at }),
  requireOpen: (kind: LinkKind, hash: string, now: number): Statement => db.bind(requireOpen, { kind, hash, now }),
  /** Consumes a link with two statements. The first fails the unit if the link is no longer valid. */
  use: (kind: LinkKind, hash: string, now: number): Statement[] => [
    db.bind(requireOpen, { kind, hash, now }),
    db.bind(use, { kind, hash, now }),
  ],
  /** Invalidates a user's open links of one kind. `user` is null for links without a user. */
  endOpen: (user: string | null, kind: LinkKind, at: number): Statement => db.bind(endOpen, { user, kind, at }),
  /** Invalidates every open link of a user, and the claim links that verify the user's current email address. */
  endAll: (user: string, at: number): Statement => db.bind(endAll, { user, at }),
})

/** An invitation that can be accepted, as shown to the holder of its link. */
export interface OpenInvitation {
  id: string
  account: { id: string; name: string }
  email: string
  role: Role
  invitedBy: string
  /** The agent that becomes the accepting user's person alias. */
  agentId: string | null
  expiresAt: number
  isLinkShown: boolean
}

const invitationByToken = crossAccountQuery<
  Omit<OpenInvitation, 'account'> & { accountId: string; accountName: string }
>(
  'invitation by token',
  `
  SELECT invitations.id, accounts.id AS account_id, accounts.name AS account_name, invitations.email, invitations.role,
    coalesce(nullif(users.name, ''), users.email, 'the operator of this grid') AS invited_by, invitations.agent_id,
    invitations.expires_at, invitations.is_link_shown
  FROM invitations
  JOIN accounts ON accounts.id = invitations.account_id
  LEFT JOIN users ON users.id = invitations.invited_by
  WHERE invitations.token_hash = :hash AND invitations.accepted_at IS NULL AND invitations.ended_at IS NULL
    AND invitations.expires_at > :now AND accounts.deleted_at IS NULL`,
  { isLinkShown: boolean },
)
export const invitations = (db: Db) => ({
  /** The invitation with this SHA-256, if it can still be accepted. The caller is not a member of its account yet. */
  byToken: async (hash: string, now: number): Promise<OpenInvitation | undefined> => {
    const row = await db.one(invitationByToken, { hash, now })
    if (!row) return undefined
    const { accountId, accountName, ...invitation } = row
    return { ...invitation, account: { id: accountId, name: accountName } }
  },
})
