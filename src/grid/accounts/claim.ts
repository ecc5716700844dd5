/**
 * Claims: the owner of an email address takes over the agents that signed up with it, or some of them.
 * See docs/security.md, "Claims".
 */
import { requirePermission, type SignedInUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import type { Claim, ClaimableAgent } from '../../store/global/claims.ts'
import type { Store } from '../../store/store.ts'
import { activityRow, recordActivity, type RecordedCall } from '../activity.ts'
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
  move: string[]
  discard: string[]
  /** The account that agents move to, which the user owns. */
  into?: { id: string; account: AccountStore }
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
 * Make the user the owner of the provisional account and name it. Its trials end. Discarded agents lose their keys and
 * are deleted. Agents that move get a row in the other account, in the same unit: alias, keys, skills, settings, what
 * they have not read, the idempotency keys of the last day, and the open tasks that they work on. Resolves to the id of
 * the provisional account.
 *
 * Fails with `link_expired` or `not_found`, as the source of the claim says, with `not_allowed`, `invalid_input` (also
 * if the other account would have too many skills), `write_conflict`, or `claim_changed` if agents were added or deleted
 * since.
 */
export async function claimAccount(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  input: ClaimDecision & { name: string },
  requestId: string | null,
): Promise<string> {
  const name = checkName(input.name, 'name')
  const { keep, move, discard, into } = input
  if (move.length > 0 && !into) throw new GridError('invalid_input', 'Choose the account to move agents to.')
  if (move.length > 0) requirePermission(into!.account.actor, 'own')
  const { user, sessionId } = claimant
  return await withOpenClaim(store, source, claimant, input, async ({ provisionalId: from, ownerEmail, agents }) => {
    const at = store.deps.now()
    const account = store.account(from, { type: 'user', userId: user.id, role: 'owner', sessionId })
    const claim = { from, name, user: user.id, email: ownerEmail, decided: [...keep, ...move, ...discard], at }
    const aliasesOf = (ids: string[]) => agents.filter(({ id }) => ids.includes(id)).map(({ alias }) => `@${alias}`)
    const decision = { kept: aliasesOf(keep), moved: aliasesOf(move), discarded: aliasesOf(discard) }
    const moved = { tool: 'move_agents', arguments: { agents: decision.moved }, requestId }
    const moves = into && move.length > 0 ? await moveStatements(store, claim, move, into, moved) : []
    const call = { tool: 'claim_account', arguments: { name, ...decision }, requestId }
    const rows = await recordActivity(account, call, (account) =>
      account.write([
        ...store.global.claims.claim(claim),
        store.global.users.addMembership(from, user.id, 'owner', at),
        ...discardStatements(account, discard, at),
        ...moves,
      ]))
    store.waiting.notifier.wake(rows.flat().flatMap(({ canceled }) => canceled ? [String(canceled)] : []))
    return from
  })
}

async function moveStatements(
  store: Store,
  claim: Claim,
  moved: string[],
  { id: to, account: into }: { id: string; account: AccountStore },
  call: RecordedCall,
): Promise<Statement[]> {
  const from = store.account(claim.from, { type: 'system', job: 'claim' })
  const skills = (await Promise.all(moved.map((id) => from.read.skills.ofAgent(id)))).flat()
  const added = await refuseTooManySkills(into, skills, {
    advice: 'Delete some of them first, or keep the agents in an account of their own.',
  })
  return [
    ...await store.global.claims.move(claim, { to, moved, keysSince: claim.at - day }),
    ...(added > 0 ? [requireSkillLimit(into)] : []),
    into.change.activity.add(activityRow(into.actor, call, 'ok', claim.at)),
  ]
}

/** Read the claim, check it and run `act`; repeat if something changed before the write. */
async function withOpenClaim(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  { keep, move, discard }: ClaimDecision,
  act: (claim: OpenClaim) => Promise<string>,
): Promise<string> {
  return await retryOnConflict(async () => {
    const claim = typeof source === 'string'
      ? await openClaim(store, source)
      : await openOfferedClaim(store, claimant, source.offered)
    checkClaimant(claimant, claim)
    const decided = [...keep, ...move, ...discard].sort()
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
