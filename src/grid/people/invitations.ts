/** Invitations of people into an account, and their acceptance. See docs/people.md, "Signing in". */
import { callingUser, requireConfirmed, type Role, type SignedInUser } from '../../auth/actor.ts'
import { hashPassword } from '../../auth/passwords.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Invitation } from '../../store/account/team.ts'
import type { Statement } from '../../store/sql.ts'
import type { OpenInvitation } from '../../store/global/links.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../check-name.ts'
import { recordActivity } from '../activity.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { join } from './join.ts'
import { checkRole, requireAssignable } from './team.ts'

const invitationLifetimeMs = day
const maxPending = 100

/** An invitation whose link has yet to be sent or shown. The link itself is never stored. */
export interface SentInvitation {
  id: string
  email: string
  role: Role
  url: string
  /** The grid sends no email, and the address has no user yet, so the link proves nothing about the address. */
  isLinkShown: boolean
}

/** Checks before any change that an email may be sent: an earlier link ends only if the new one can be sent. */
type CheckEmailLimit = (email: string) => Promise<void>

/** Invites the user of an email address into the account. An earlier invitation to the same address ends. */
export async function inviteMember(
  account: AccountStore,
  input: { email: string; role: string },
  checkEmailLimit?: CheckEmailLimit,
): Promise<SentInvitation> {
  const email = normaliseEmail(input.email, 'email')
  const role = checkRole(input.role)
  const check = async () => {
    const caller = await authorize(account, 'manage')
    requireAssignable(caller.role, [role])
    if (role === 'owner') requireConfirmed(account.actor, account.deps.now())
    if (await account.read.team.memberByEmail(email)) {
      throw new GridError('member_exists', `${email} is already a member of the account.`, { field: 'email' })
    }
    const pending = await account.read.team.invitations()
    requireAssignable(caller.role, pending.filter((other) => other.email === email).map((other) => other.role))
    if (pending.length >= maxPending) {
      throw invalidInput(`At most ${maxPending} invitations can be open. Withdraw some.`, 'email')
    }
    return caller
  }
  await check()
  await checkEmailLimit?.(email)
  return await retryOnConflict(async () => {
    const { precondition } = await check()
    return await issueInvitation(account, { email, role }, [
      ...precondition,
      account.change.team.endInvitationsFor(email, account.deps.now()),
    ])
  })
}

/** Replaces an invitation with a new one, with a new link and lifetime. The old link ends. */
export async function resendInvitation(
  account: AccountStore,
  id: string,
  checkEmailLimit?: CheckEmailLimit,
): Promise<SentInvitation> {
  await checkEmailLimit?.((await findInvitation(account, id)).invitation.email)
  return await retryOnConflict(async () => {
    const { invitation, precondition } = await findInvitation(account, id)
    const end = account.change.team.endInvitation(id, account.deps.now())
    return await issueInvitation(account, invitation, [...precondition, end])
  })
}

export async function withdrawInvitation(account: AccountStore, id: string): Promise<{ id: string }> {
  return await retryOnConflict(async () => {
    const { precondition } = await findInvitation(account, id)
    await account.write([...precondition, account.change.team.endInvitation(id, account.deps.now())])
    return { id }
  })
}

export async function openInvitation(store: Store, token: string): Promise<OpenInvitation & { hasUser: boolean }> {
  const { global, deps: { now } } = store
  const invitation = await global.invitations.byToken(hashForLookup(token), now())
  if (!invitation) {
    throw new GridError(
      'link_expired',
      'This invitation was used or withdrawn, or has expired. Ask the sender for a new one.',
    )
  }
  return { ...invitation, hasUser: (await global.users.byEmail(invitation.email)) !== undefined }
}

/** Joins the account as the invited user. A link that was sent to the address also verifies it. */
export async function acceptInvitation(
  store: Store,
  token: string,
  { user, sessionId }: SignedInUser,
  requestId: string | null,
): Promise<string> {
  const invitation = await openInvitation(store, token)
  if (user.email !== invitation.email) {
    throw new GridError(
      'not_allowed',
      'This invitation is for another email address. Sign in with that address to accept it.',
    )
  }
  await accept(store, token, invitation, { userId: user.id, sessionId, requestId, first: [] })
  return invitation.account.id
}

/** Creates the invited user and joins the account. The address stays unverified if the inviter was shown the link. */
export async function registerInvitedUser(
  store: Store,
  token: string,
  input: { name: string; password: string },
  requestId: string | null,
): Promise<{ userId: string; id: string }> {
  const { global, deps: { now } } = store
  const { hasUser, ...invitation } = await openInvitation(store, token)
  if (hasUser) throw hasUserAlready()
  const name = checkName(input.name, 'name')
  const passwordHash = await hashPassword(input.password)
  const userId = newId()
  const at = now()
  const { email, isLinkShown } = invitation
  const user = { id: userId, email, name, passwordHash, verifiedAt: isLinkShown ? null : at }
  const first = [global.users.add({ ...user, registeredByShownLink: isLinkShown }, at)]
  // The session starts only after the join has succeeded.
  await accept(store, token, invitation, { userId, sessionId: '', requestId, first })
  return { userId, id: invitation.account.id }
}

async function accept(
  store: Store,
  token: string,
  { id, account: { id: joinedId }, email, role, agentId, isLinkShown }: OpenInvitation,
  { userId, sessionId, requestId, first }: {
    userId: string
    sessionId: string
    requestId: string | null
    first: Statement[]
  },
): Promise<void> {
  const { global, deps: { now } } = store
  const joined = store.account(joinedId, { type: 'user', userId, role, sessionId })
  const call = { tool: 'accept_invitation', arguments: { email, role }, requestId }
  await recordActivity(joined, call, (account) =>
    retryOnConflict(async () => {
      const { hasUser } = await openInvitation(store, token)
      if (first.length > 0 && hasUser) throw hasUserAlready()
      const at = now()
      const { personAliases, team } = account.change
      await account.write([
        ...first,
        ...(isLinkShown ? [] : [global.users.verifyEmail(userId, email, at)]),
        ...await join(account, { id: userId, role }, { by: 'invitation', id, email, isLinkShown }),
        ...(agentId === null ? [] : [personAliases.add(userId, agentId)]),
        team.accept(id, at),
      ])
    }))
}

async function issueInvitation(
  account: AccountStore,
  { email, role, agentId = null }: { email: string; role: Role; agentId?: string | null },
  precedingStatements: Statement[],
): Promise<SentInvitation> {
  const { change, read, deps: { config, now, email: sender } } = account
  const { token, hash } = mintLinkToken()
  const [id, at] = [newId(), now()]
  const { userId } = callingUser(account.actor)
  const expiresAt = at + invitationLifetimeMs
  const row = {
    ...{ id, email, role, tokenHash: hash, invitedBy: userId, agentId, expiresAt },
    mayShowLink: !sender.isConfigured,
  }
  await account.write([...precedingStatements, change.team.addInvitation(row, at)])
  // The insert decides whether the link is shown, so that a user who registers at the same moment counts.
  const isLinkShown = (await read.team.invitation(id))?.isLinkShown ?? false
  return { id, email, role, url: `${config.appUrl}/invitations/${token}`, isLinkShown }
}

async function findInvitation(
  account: AccountStore,
  id: string,
): Promise<{ invitation: Invitation; precondition: Statement[] }> {
  const caller = await authorize(account, 'manage')
  const invitation = await account.read.team.invitation(id)
  if (!invitation) {
    throw new GridError('invitation_not_found', 'There is no such invitation, or it was accepted or withdrawn.')
  }
  requireAssignable(caller.role, [invitation.role])
  return { invitation, precondition: [...caller.precondition, account.change.team.requirePending(id)] }
}

function hasUserAlready(): GridError {
  return new GridError(
    'member_exists',
    'A user with this email address already exists. Sign in to accept the invitation.',
  )
}
