/** Who becomes a member of an account, and what they must prove. See docs/security.md, "Who joins an account". */
import type { Role } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Identity, SsoProvider } from '../../store/global/sso.ts'
import type { Statement } from '../../store/sql.ts'
import { domainOf } from '../../lib/names.ts'

/** What a provider says of the address of a user. */
export interface SaidAddress {
  /** Undefined if the provider gives none that counts. */
  email: string | undefined
  isVerified: boolean
}

/** How a user comes in. */
export type Way =
  | { by: 'provider'; provider: SsoProvider; said: SaidAddress; identity: Identity }
  /** `isLinkShown`: the inviter was shown the link, so it proves nothing about the address. */
  | { by: 'invitation'; id: string; email: string; isLinkShown: boolean }
  /** `email` is the address that the signups named. */
  | { by: 'claim'; email: string }
  /** A user makes an account of their own. */
  | { by: 'creation'; email: string }
  /** The operator makes the account: by a command, or by the link in the log of the server. */
  | { by: 'operator' }

type Proof<By extends Way['by']> = (
  account: AccountStore,
  user: string,
  way: Extract<Way, { by: By }>,
) => Promise<Statement[]> | Statement[]

/** Who must prove what: each way refuses, or gives the statements that check it again within the unit. */
const proofs: { [By in Way['by']]: Proof<By> } = {
  /** An address that counts as verified, in the verified domain of the account. A removed member stays out. */
  provider: async ({ read, change }, user, { provider, said, identity }) => {
    const { domain, name } = provider
    const { email } = said
    if (email === undefined) {
      throw new SsoRefusal(
        'no_address',
        `${name} does not tell your email address, so you cannot join. Its administrators can add the claim email; an ` +
          'owner of the account sees under Settings, Account, which claims came.',
      )
    }
    if (domainOf(email) !== domain) {
      throw new SsoRefusal('other_domain', `${name} signs people in only for addresses of ${domain}, not as ${email}.`)
    }
    if (!said.isVerified) {
      throw new SsoRefusal(
        'not_verified',
        `${name} does not say that ${email} is verified, so it does not count. An owner of the account can say under ` +
          `Settings, Account, that ${name} vouches for the addresses of ${domain}.`,
      )
    }
    const comer = { user, email, issuer: identity.issuer, subject: identity.subject }
    const removed = await read.team.removalOf(comer)
    if (removed) {
      throw new SsoRefusal(
        'removed',
        'You were removed from this account, or left it as a viewer. Its owners see under Settings, Account, that you have signed in, and can ' +
          'let you in again.',
        removed.userId,
      )
    }
    return [change.team.requireNotRemoved(comer), change.sso.requireVerified(domain)]
  },

  /** The invited address. An invitation that is older than the removal of the user does not count. */
  invitation: async ({ read, change }, user, { id, email, isLinkShown }) => {
    const removed = await read.team.removal(user)
    const invitation = await read.team.invitation(id)
    if (removed && invitation && invitation.createdAt < removed.removedAt) {
      throw new GridError('not_allowed', 'You were removed from this account since. Ask for a new invitation.')
    }
    return [change.team.requirePending(id), change.team.requireAddress(user, email, !isLinkShown)]
  },

  /** The address of the owner, verified. */
  claim: ({ change }, user, { email }) => [change.team.requireAddress(user, email, true)],

  /** Their own address, verified: an account needs an owner who can be reached. */
  creation: ({ change }, user, { email }) => [change.team.requireAddress(user, email, true)],

  /** Nothing: the operator vouches for the user. */
  operator: () => [],
}

/**
 * Statements that make the user a member of the account, once they have proved what the way demands. Every path that makes
 * a member takes them. They fail their unit if the account is deleted. Fails with `not_allowed`.
 */
export async function join(
  account: AccountStore,
  { id, role, isByClaim = false }: { id: string; role: Role; isByClaim?: boolean },
  way: Way,
): Promise<Statement[]> {
  const { removal, sso, team } = account.change
  return [
    removal.requireKept(),
    ...await prove(account, id, way),
    team.addMember(id, role, account.deps.now(), isByClaim),
    team.letIn(id),
    sso.letInSignIns(id),
  ]
}

/** The proof alone, for what needs the same as joining: a member who links the provider of the account. */
export async function prove(account: AccountStore, user: string, way: Way): Promise<Statement[]> {
  return await (proofs[way.by] as Proof<Way['by']>)(account, user, way)
}

/** Why the provider of an account does not sign somebody in, as the owners of the account see it. */
export type SsoRefusalReason = 'no_address' | 'not_verified' | 'other_domain' | 'removed' | 'address_taken'

export class SsoRefusal extends GridError {
  readonly reason: SsoRefusalReason
  /** The removed member. */
  readonly userId: string | null

  constructor(reason: SsoRefusalReason, message: string, userId: string | null = null) {
    super('not_allowed', message)
    this.reason = reason
    this.userId = userId
  }
}
