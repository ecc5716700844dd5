/** Who becomes a member of an account, and what they must prove. See docs/people.md, "Who joins an account". */
import type { Role } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'

/** How a user comes in. */
export type Way =
  /** The provider of the account has signed the user in. `proof` checks within the unit what joining takes. */
  | { by: 'provider'; proof: readonly Statement[] }
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
  /** The feature that signs people in has proved it. */
  provider: (_account, _user, { proof }) => [...proof],

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
  const { removal, team } = account.change
  return [
    removal.requireKept(),
    ...await (proofs[way.by] as Proof<Way['by']>)(account, id, way),
    team.addMember(id, role, account.deps.now(), isByClaim),
    team.letIn(id),
    ...account.hooks.flatMap(({ joined }) => joined?.(account, id) ?? []),
  ]
}
