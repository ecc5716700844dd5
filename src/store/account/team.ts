/** The account's members and invited users. */
import type { Role } from '../../auth/actor.ts'
import { hasSecondFactor } from '../global/second-factors.ts'
import { type AccountDb, boolean, precondition, query, type Statement, statement } from '../sql.ts'

export interface AccountMember {
  userId: string
  name: string
  email: string
  role: Role
  since: number
  hasSecondFactor: boolean
  /** The role came from the provider's claim. */
  roleByClaim: boolean
}

/** An invitation that was neither accepted nor ended; it may have expired. Times are milliseconds since the epoch. */
export interface Invitation {
  id: string
  email: string
  role: Role
  invitedBy: string
  agentId: string | null
  createdAt: number
  expiresAt: number
  isLinkShown: boolean
}

interface NewInvitation {
  id: string
  email: string
  role: Role
  tokenHash: string
  /** The inviting user. Null for the operator. */
  invitedBy: string | null
  /** The agent that becomes the accepting user's person alias. */
  agentId?: string | null
  expiresAt: number
  /**
   * Whether the inviter may see the link. Default: no. Even if true, it is shown only if the address has no user yet.
   */
  mayShowLink?: boolean
}

const selectMembers = `
  SELECT memberships.user_id, users.name, users.email, memberships.role, memberships.created_at AS since,
    ${hasSecondFactor('memberships.user_id')} AS has_second_factor, memberships.role_by_claim
  FROM memberships JOIN users ON users.id = memberships.user_id
  WHERE memberships.account_id = :account`
const decoders = { hasSecondFactor: boolean, roleByClaim: boolean }
const members = query<AccountMember>(
  `${selectMembers} ORDER BY memberships.created_at, memberships.user_id`,
  decoders,
)
const member = query<AccountMember>(`${selectMembers} AND memberships.user_id = :user`, decoders)
const memberByEmail = query<AccountMember>(`${selectMembers} AND users.email = :email`, decoders)

const requireRole = precondition(`EXISTS (
  SELECT 1 FROM memberships
  WHERE account_id = :account AND user_id = :user AND role IN (SELECT value FROM json_each(:roles)))`)
const requireOtherOwner = precondition(`EXISTS (
  SELECT 1 FROM memberships WHERE account_id = :account AND role = 'owner' AND user_id <> :user)`)
const requireEmpty = precondition(`
  NOT EXISTS (SELECT 1 FROM memberships WHERE account_id = :account AND user_id <> :user)
  AND NOT EXISTS (SELECT 1 FROM agents WHERE account_id = :account AND deleted_at IS NULL AND type <> 'human')`)
const requireAddress = precondition(`EXISTS (
  SELECT 1 FROM users
  WHERE users.id = :user AND users.email = :email AND (users.email_verified_at IS NOT NULL OR :isVerified = 0))`)
const addMember = statement(`
  INSERT INTO memberships (account_id, user_id, role, created_at, role_by_claim)
  VALUES (:account, :user, :role, :at, :isByClaim)
  ON CONFLICT DO NOTHING`)
const setRole = statement(`
  UPDATE memberships SET role = :role, role_by_claim = :isByClaim WHERE account_id = :account AND user_id = :user`)
const remove = statement(`DELETE FROM memberships WHERE account_id = :account AND user_id = :user`)

const keepOut = statement(`
  INSERT INTO removed_members (account_id, user_id, email, removed_at)
  SELECT :account, users.id, users.email, :at FROM users WHERE users.id = :user
  ON CONFLICT (account_id, user_id) DO UPDATE SET email = excluded.email, removed_at = excluded.removed_at`)
const letIn = statement(`DELETE FROM removed_members WHERE account_id = :account AND user_id = :user RETURNING user_id`)
const removal = query<{ userId: string; removedAt: number }>(`
  SELECT user_id, removed_at FROM removed_members WHERE account_id = :account AND user_id = :user`)
const stopRequiringProvider = statement(`UPDATE sso_providers SET is_required = 0 WHERE account_id = :account`)

const selectPending = `
  SELECT invitations.id, invitations.email, invitations.role,
    coalesce(nullif(inviter.name, ''), inviter.email, 'the operator of this grid') AS invited_by, invitations.agent_id,
    invitations.created_at, invitations.expires_at, invitations.is_link_shown
  FROM invitations LEFT JOIN users AS inviter ON inviter.id = invitations.invited_by
  WHERE invitations.account_id = :account AND invitations.accepted_at IS NULL AND invitations.ended_at IS NULL`
const pending = query<Invitation>(
  `${selectPending} ORDER BY invitations.created_at DESC, invitations.id DESC`,
  { isLinkShown: boolean },
)
const invitation = query<Invitation>(`${selectPending} AND invitations.id = :id`, { isLinkShown: boolean })
const isPending = `account_id = :account AND accepted_at IS NULL AND ended_at IS NULL`
const requirePending = precondition(`EXISTS (SELECT 1 FROM invitations WHERE ${isPending} AND id = :id)`)
const addInvitation = statement(`
  INSERT INTO invitations
    (account_id, id, email, role, token_hash, invited_by, agent_id, created_at, expires_at, is_link_shown)
  VALUES (:account, :id, :email, :role, :tokenHash, :invitedBy, :agentId, :at, :expiresAt,
    :mayShowLink AND NOT EXISTS (SELECT 1 FROM users WHERE users.email = :email))
  ON CONFLICT DO NOTHING`)
const end = statement(`UPDATE invitations SET ended_at = :at WHERE ${isPending} AND id = :id`)
const endFor = statement(`UPDATE invitations SET ended_at = :at WHERE ${isPending} AND email = :email`)
const endBy = statement(`
  UPDATE invitations SET ended_at = :at
  WHERE ${isPending} AND invited_by = :user AND role NOT IN (SELECT value FROM json_each(:kept))`)
const accept = statement(`UPDATE invitations SET accepted_at = :at WHERE ${isPending} AND id = :id`)

export const team = {
  reads: (account: AccountDb) => ({
    members: (): Promise<AccountMember[]> => account.all(members),
    member: (user: string): Promise<AccountMember | undefined> => account.one(member, { user }),
    memberByEmail: (email: string): Promise<AccountMember | undefined> => account.one(memberByEmail, { email }),
    /** When a person removed the user. Undefined if the user was let in again. */
    removal: (user: string) => account.one(removal, { user }),
    /** Invitations that were neither accepted nor ended, newest first, including expired ones. */
    invitations: (): Promise<Invitation[]> => account.all(pending),
    invitation: (id: string): Promise<Invitation | undefined> => account.one(invitation, { id }),
  }),
  changes: (account: AccountDb) => ({
    requireRole: (user: string, roles: readonly Role[]): Statement =>
      account.bind(requireRole, { user, roles: JSON.stringify(roles) }),
    requireOtherOwner: (user: string): Statement => account.bind(requireOtherOwner, { user }),
    /** Fails the unit if another user is a member when it runs, or if a live agent is not a person. */
    requireEmpty: (user: string): Statement => account.bind(requireEmpty, { user }),
    /** Fails the unit unless the user has this address and, if `isVerified`, has verified it. */
    requireAddress: (user: string, email: string, isVerified: boolean): Statement =>
      account.bind(requireAddress, { user, email, isVerified }),
    /** Only for `join`, which checks the required proofs. */
    addMember: (user: string, role: Role, at: number, isByClaim = false): Statement =>
      account.bind(addMember, { user, role, at, isByClaim }),
    setRole: (user: string, role: Role, isByClaim = false): Statement =>
      account.bind(setRole, { user, role, isByClaim }),
    remove: (user: string): Statement => account.bind(remove, { user }),
    /** The removed user is refused until `letIn`. */
    keepOut: (user: string, at: number): Statement => account.bind(keepOut, { user, at }),
    /** Returns no row if the user was not removed. */
    letIn: (user: string): Statement => account.bind(letIn, { user }),
    /** Allows members to sign in without the account's provider. */
    stopRequiringProvider: (): Statement => account.bind(stopRequiringProvider, {}),
    addInvitation: ({ mayShowLink = false, agentId = null, ...invitation }: NewInvitation, at: number): Statement =>
      account.bind(addInvitation, { ...invitation, agentId, mayShowLink, at }),
    requirePending: (id: string): Statement => account.bind(requirePending, { id }),
    endInvitation: (id: string, at: number): Statement => account.bind(end, { id, at }),
    endInvitationsFor: (email: string, at: number): Statement => account.bind(endFor, { email, at }),
    /** Ends the invitations that a user sent, except invitations for the roles `kept`. */
    endInvitationsBy: (user: string, kept: readonly Role[], at: number): Statement =>
      account.bind(endBy, { user, kept: JSON.stringify(kept), at }),
    accept: (id: string, at: number): Statement => account.bind(accept, { id, at }),
  }),
}
