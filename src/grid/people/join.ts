/** Who becomes a member of an account, and what they must prove. See docs/people.md, "Who joins an account". */
import type { Role } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'

/** The ways in which a user can join. */
export type Way =
  /** The account's provider has signed the user in. `proof` checks the requirements within the unit. */
  | { by: 'provider'; proof: readonly Statement[] }
  /** `isLinkShown`: the inviter was shown the link, so it proves nothing about the address. */
  | { by: 'invitation'; id: string; email: string; isLinkShown: boolean }
  /** `email` is the owner address given in the signups. */
  | { by: 'claim'; email: string }
  /** A user creates their own account. */
  | { by: 'creation'; email: string }
  /** The operator creates the account, with a command or the link in the server log. */
  | { by: 'operator' }

type Proof<By extends Way['by']> = (
  account: AccountStore,
  user: string,
  way: Extract<Way, { by: By }>,
) => Promise<Statement[]> | Statement[]

/** What each way of joining must prove. Each refuses, or returns statements that check it again within the unit. */
const proofs: { [By in Way['by']]: Proof<By> } = {
  /** Already proved by the feature that signs people in. */
  provider: (_account, _user, { proof }) => [...proof],

  /** Requires the invited address. An invitation older than the user's removal does not count. */
  invitation: async ({ read, change }, user, { id, email, isLinkShown }) => {
    const removed = await read.team.removal(user)
    const invitation = await read.team.invitation(id)
    if (removed && invitation && invitation.createdAt < removed.removedAt) {
      throw new GridError('not_allowed', 'You have been removed from this account since. Ask for a new invitation.')
    }
    return [change.team.requirePending(id), change.team.requireAddress(user, email, !isLinkShown)]
  },

  /** Requires the owner's verified address. */
  claim: ({ change }, user, { email }) => [change.team.requireAddress(user, email, true)],

  /** Requires the user's own verified address, because an account needs a reachable owner. */
  creation: ({ change }, user, { email }) => [change.team.requireAddress(user, email, true)],

  /** Requires nothing: the operator vouches for the user. */
  operator: () => [],
}

/**
 * Returns statements that make the user a member of the account, once they have proved what `way` requires. Every path
 * that creates a member uses them. They fail their unit if the account is deleted. Fails with `not_allowed`.
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
