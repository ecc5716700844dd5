/**
 * Claims: the owner of an email address takes over the agents that signed up with it, or some of them.
 * See docs/security.md, "Claims".
 */
import { requirePermission, type SignedInUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import type { ClaimableAgent } from '../../store/global/claims.ts'
import type { Store } from '../../store/store.ts'
import { recordActivity } from '../activity.ts'
import { refuseTooManySkills, requireSkillLimit } from '../agents/skills.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { checkName } from './accounts.ts'

/** An account that can be claimed. */
export interface OpenClaim {
  /** Id of the provisional account. */
  provisionalId: string
  /** The email address that the signups named, normalised. */
  ownerEmail: string
  agents: ClaimableAgent[]
}

/** The claim of a claim link. Fails with `link_expired`, which says whether the link is unknown or was used. */
export async function openClaim(store: Store, token: string): Promise<OpenClaim> {
  const found = await store.global.claims.byToken(hashForLookup(token))
  if (!found) {
    throw new GridError(
      'link_expired',
      'This claim link is unknown. Agents that nobody claims are removed after a week, and their links with them.',
    )
  }
  if (found.state !== 'provisional') {
    throw new GridError(
      'link_expired',
      'This claim link was used: its agents were claimed already, together with all others of the same email address. Sign in with that address to see them.',
    )
  }
  const { home, ownerEmail } = found
  return { provisionalId: home, ownerEmail, agents: await store.global.claims.agents(home) }
}

/** Agents that signed up for a user, without the link of their signup. */
export interface ClaimOffer {
  /** Id of the oldest provisional account that has some of them. */
  provisionalId: string
  /** How many there are, in all provisional accounts. */
  agents: number
  /** When the first of their trials ends, in milliseconds since the epoch; null if all have ended. */
  trialEndsAt: number | null
}

/** The agents that signed up with the email address of a user. Undefined if there are none, and while it is not verified. */
export async function findClaimOffer(
  { global }: Store,
  { email, emailVerifiedAt }: SignedInUser['user'],
): Promise<ClaimOffer | undefined> {
  if (emailVerifiedAt === null) return undefined
  const found = await global.claims.offer(email)
  return found && { provisionalId: found.id, agents: found.agents, trialEndsAt: found.trialEndsAt }
}

/**
 * The claim of an account that is offered to the user. Fails with `not_found`, in the same way for an account that does
 * not exist, was claimed, or is offered to another user.
 */
export async function openOfferedClaim({ global }: Store, { user }: SignedInUser, id: string): Promise<OpenClaim> {
  const found = user.emailVerifiedAt === null ? undefined : await global.claims.offered(id, user.email)
  if (!found) throw new GridError('not_found', 'There are no agents to claim here. They may have been claimed already.')
  const { home, ownerEmail } = found
  return { provisionalId: home, ownerEmail, agents: await global.claims.agents(home) }
}

/** What a user claims: the token of a claim link, or the provisional account that was offered. */
export type ClaimSource = string | { offered: string }

/** What happens to the agents, by id. Every live agent of the account is in exactly one of the lists. */
export interface ClaimDecision {
  keep: string[]
  discard: string[]
}

/**
 * Require that the user has verified the email address that the signups named. The claim link proves nothing, because
 * the agent has it too. Fails with `not_allowed`.
 */
export function checkClaimant({ user }: SignedInUser, { ownerEmail }: OpenClaim): void {
  if (user.email === ownerEmail && user.emailVerifiedAt !== null) return
  throw new GridError(
    'not_allowed',
    `Only the owner of ${ownerEmail} can claim these agents. Verify that email address first.`,
  )
}

/**
 * Make the user the owner of the provisional account and name it. The trial of kept agents ends; discarded agents lose
 * their keys and are deleted. Resolves to the account's id.
 * Fails with `link_expired` or `not_found`, as the source of the claim says, with `not_allowed`, `invalid_input`,
 * `write_conflict`, or `claim_changed` if agents were added or deleted since.
 */
export async function claimAccount(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  input: ClaimDecision & { name: string },
  requestId: string | null,
): Promise<string> {
  const name = checkName(input.name, 'name')
  const { user, sessionId } = claimant
  return await withOpenClaim(store, source, claimant, input, async ({ provisionalId, ownerEmail, agents }) => {
    const at = store.deps.now()
    const { keep, discard } = input
    const account = store.account(provisionalId, { type: 'user', userId: user.id, role: 'owner', sessionId })
    const call = { tool: 'claim_account', arguments: { name, ...decisionArguments(agents, input) }, requestId }
    await recordActivity(account, call, (account) =>
      account.write([
        ...store.global.claims.claim(
          { from: provisionalId, user: user.id, email: ownerEmail, keep, discard, at },
          name,
        ),
        store.global.users.addMembership(provisionalId, user.id, 'owner', at),
        ...discardStatements(account, discard, at),
      ]))
    return provisionalId
  })
}

/**
 * Move the kept agents with their keys and inboxes into an account that the user owns. Their trial ends; discarded
 * agents lose their keys and are deleted. Resolves to the id of that account.
 * Fails as `claimAccount` does, with `not_allowed` if the user does not own the account, and with `invalid_input` if it
 * would have too many skills.
 */
export async function mergeClaim(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  into: { id: string; account: AccountStore },
  decision: ClaimDecision,
  requestId: string | null,
): Promise<string> {
  requirePermission(into.account.actor, 'own')
  const { user } = claimant
  return await withOpenClaim(store, source, claimant, decision, async ({ provisionalId, ownerEmail, agents }) => {
    const at = store.deps.now()
    const { keep, discard } = decision
    const from = store.account(provisionalId, { type: 'system', job: 'claim' })
    const skills = (await Promise.all(keep.map((id) => from.read.skills.ofAgent(id)))).flat()
    const added = await refuseTooManySkills(into.account, skills, {
      advice: 'Delete some of them first, or claim the agents as a new account.',
    })
    const call = { tool: 'merge_account', arguments: decisionArguments(agents, decision), requestId }
    await recordActivity(into.account, call, (account) =>
      account.write([
        ...store.global.claims.merge(
          { from: provisionalId, user: user.id, email: ownerEmail, keep, discard, at },
          into.id,
        ),
        ...(added > 0 ? [requireSkillLimit(account)] : []),
        ...discardStatements(from, discard, at),
      ]))
    return into.id
  })
}

/** Read the claim, check it and run `act`; repeat if something changed before the write. */
async function withOpenClaim(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  { keep, discard }: ClaimDecision,
  act: (claim: OpenClaim) => Promise<string>,
): Promise<string> {
  return await retryOnConflict(async () => {
    const claim = typeof source === 'string'
      ? await openClaim(store, source)
      : await openOfferedClaim(store, claimant, source.offered)
    checkClaimant(claimant, claim)
    const decided = [...keep, ...discard].sort()
    const live = claim.agents.map(({ id }) => id).sort()
    if (decided.length !== live.length || decided.some((id, n) => id !== live[n])) {
      throw new GridError('claim_changed', 'Agents were added or deleted since the page was loaded. Choose again.')
    }
    const id = await act(claim)
    // Waiting readers authenticate again, and find that their agent was deleted or moved.
    store.waiting.notifier.notify(decided)
    return id
  })
}

/** Statements that delete the discarded agents, as `deleteAgent` does. */
function discardStatements({ change }: AccountStore, ids: string[], at: number): Statement[] {
  return ids.flatMap((id) => [
    change.keys.revokeOfAgent(id, at),
    change.leases.parkUnread(id, at),
    change.agents.softDelete(id, at),
  ])
}

function decisionArguments(agents: ClaimableAgent[], { keep, discard }: ClaimDecision) {
  const aliases = (ids: string[]) => agents.filter(({ id }) => ids.includes(id)).map(({ alias }) => `@${alias}`)
  return { kept: aliases(keep), discarded: aliases(discard) }
}
