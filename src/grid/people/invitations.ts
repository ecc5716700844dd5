/** Asking people into an account, and their coming. Security: T6. */
import { callingUser, type Role } from '../../auth/actor.ts'
import { hashPassword } from '../../auth/passwords.ts'
import { hashForLookup, mintLinkToken } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Invitation } from '../../store/account/team.ts'
import type { Statement } from '../../store/driver/binding.ts'
import type { OpenInvitation } from '../../store/global/invitations.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../accounts/accounts.ts'
import { recorded } from '../activity.ts'
import { againOnConflict } from '../retry-on-conflict.ts'
import { normalEmail } from './email-address.ts'
import { standing } from '../authorize.ts'
import { checkGrant, checkRole } from './team.ts'

export const invitationLifetimeMs = day
/** How many people an account may be waiting for. */
export const maxPending = 100

/** An invitation to be mailed; its link is nowhere else. */
export interface SentInvitation {
  id: string
  email: string
  role: Role
  url: string
}

/**
 * Whether an address may be mailed now, asked once and last, when nothing else stands in the way. What it fails with
 * leaves everything as it was: a link that is in a mailbox ends only for one that gets there.
 */
export type MayMail = (email: string) => Promise<void>

/**
 * Ask somebody into the account, by a link to a mail address. An earlier one for the same address ends.
 * Fails with `not_allowed`, `invalid_email`, `invalid_input` or `member_exists`, and as `mayMail` does.
 */
export async function inviteMember(
  account: AccountStore,
  input: { email: string; role: string },
  mayMail?: MayMail,
): Promise<SentInvitation> {
  const email = normalEmail(input.email, 'email')
  const role = checkRole(input.role)
  const check = async () => {
    const caller = await standing(account, 'manage')
    checkGrant(caller.role, [role])
    if (await account.read.team.memberByEmail(email)) {
      throw new GridError('member_exists', `${email} belongs to the account already.`, { field: 'email' })
    }
    const pending = await account.read.team.invitations()
    checkGrant(caller.role, pending.filter((other) => other.email === email).map((other) => other.role))
    if (pending.length >= maxPending) {
      throw new GridError('invalid_input', `At most ${maxPending} invitations can be open. Withdraw some.`, {
        field: 'email',
      })
    }
    return caller
  }
  await check()
  await mayMail?.(email)
  return await againOnConflict(async () => {
    const { demand } = await check()
    return await send(account, { email, role }, [
      ...demand,
      account.change.team.endInvitationsFor(email, account.deps.now()),
    ])
  })
}

/**
 * Ask once more: a new link with a new day to use it; the old one ends.
 * Fails with `not_allowed` or `invitation_not_found`, and as `mayMail` does.
 */
export async function sendInvitationAgain(
  account: AccountStore,
  id: string,
  mayMail?: MayMail,
): Promise<SentInvitation> {
  await mayMail?.((await findInvitation(account, id)).invitation.email)
  return await againOnConflict(async () => {
    const { invitation, demand } = await findInvitation(account, id)
    return await send(account, invitation, [...demand, account.change.team.endInvitation(id, account.deps.now())])
  })
}

/** End an invitation; its link is dead. Fails with `not_allowed` or `invitation_not_found`. */
export async function withdrawInvitation(account: AccountStore, id: string): Promise<{ id: string }> {
  return await againOnConflict(async () => {
    const { demand } = await findInvitation(account, id)
    await account.write([...demand, account.change.team.endInvitation(id, account.deps.now())])
    return { id }
  })
}

/** What the holder of a link is asked into. Fails with `link_expired`: unknown, used, withdrawn, replaced or too old. */
export async function openInvitation(store: Store, token: string): Promise<OpenInvitation & { hasUser: boolean }> {
  const { global, deps: { now } } = store
  const invitation = await global.invitations.byToken(hashForLookup(token), now())
  if (!invitation) {
    throw new GridError(
      'link_expired',
      'This invitation was used or withdrawn, or has expired. Ask whoever invited you for a new one.',
    )
  }
  return { ...invitation, hasUser: (await global.users.byEmail(invitation.email)) !== undefined }
}

/** A signed-in person. */
export interface Invitee {
  user: { id: string; email: string }
  sessionId: string
}

/**
 * Come into the account, as the person of the address that was invited: the link was mailed there and proves the
 * mailbox. Resolves to the account's id. Fails with `link_expired` or `not_allowed`.
 */
export async function acceptInvitation(
  store: Store,
  token: string,
  { user, sessionId }: Invitee,
  requestId: string | null,
): Promise<string> {
  const invitation = await openInvitation(store, token)
  if (user.email !== invitation.email) {
    throw new GridError('not_allowed', 'This invitation is for another address. Sign in as that person to accept it.')
  }
  await join(store, token, invitation, { userId: user.id, sessionId, requestId, first: [] })
  return invitation.account.id
}

/**
 * Come to the grid and into the account, as the first user of the address that was invited.
 * Fails with `link_expired`, `invalid_input`, or `member_exists` when the address has a user by now.
 */
export async function registerInvited(
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
  const first = [global.users.add({ id: userId, email: invitation.email, name, passwordHash, verifiedAt: at }, at)]
  // There is no session yet: it begins when this has succeeded.
  await join(store, token, invitation, { userId, sessionId: '', requestId, first })
  return { userId, id: invitation.account.id }
}

async function join(
  store: Store,
  token: string,
  { id, account: { id: home }, email, role }: OpenInvitation,
  { userId, sessionId, requestId, first }: {
    userId: string
    sessionId: string
    requestId: string | null
    first: Statement[]
  },
): Promise<void> {
  const { global, deps: { now } } = store
  const entered = store.account(home, { type: 'user', userId, role, sessionId })
  const call = { tool: 'accept_invitation', arguments: { email, role }, requestId }
  await recorded(entered, call, (account) =>
    againOnConflict(async () => {
      const { hasUser } = await openInvitation(store, token)
      if (first.length > 0 && hasUser) throw hasUserAlready()
      const at = now()
      const { team } = account.change
      await account.write([
        ...first,
        team.requirePending(id),
        global.users.proveEmail(userId, email, at),
        global.users.requireProved(userId, email),
        team.addMember(userId, role, at),
        team.accept(id, at),
      ])
    }))
}

async function send(
  account: AccountStore,
  { email, role }: { email: string; role: Role },
  before: Statement[],
): Promise<SentInvitation> {
  const { change, deps: { config, now } } = account
  const { token, hash } = await mintLinkToken()
  const [id, at] = [newId(), now()]
  const { userId } = callingUser(account.actor)
  const row = { id, email, role, tokenHash: hash, invitedBy: userId, expiresAt: at + invitationLifetimeMs }
  await account.write([...before, change.team.addInvitation(row, at)])
  return { id, email, role, url: `${config.appUrl}/invitations/${token}` }
}

/** An invitation of the account that the caller may change, and what must still hold when they do. */
async function findInvitation(
  account: AccountStore,
  id: string,
): Promise<{ invitation: Invitation; demand: Statement[] }> {
  const caller = await standing(account, 'manage')
  const invitation = await account.read.team.invitation(id)
  if (!invitation) {
    throw new GridError('invitation_not_found', 'This invitation was accepted or withdrawn, or never was.')
  }
  checkGrant(caller.role, [invitation.role])
  return { invitation, demand: [...caller.demand, account.change.team.requirePending(id)] }
}

function hasUserAlready(): GridError {
  return new GridError('member_exists', 'This address has a user already. Sign in to accept the invitation.')
}
