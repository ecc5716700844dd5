/** Claiming: the owner of a mailbox takes the agents that signed up for it, or some of them. Security: section 4. */
import { requirePermission } from '../../auth/actor.ts'
import { hashForLookup } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Claimable } from '../../store/global/claims.ts'
import type { Statement } from '../../store/driver/binding.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from './accounts.ts'
import { recorded } from '../activity.ts'
import { againOnConflict } from '../retry-on-conflict.ts'

/** What a claim link opens. */
export interface OpenClaim {
  /** The provisional account. */
  home: string
  /** The mailbox that must be proved, normalised. */
  ownerEmail: string
  agents: Claimable[]
}

/** Fails with `link_expired`: unknown, or claimed already. */
export async function openClaim(store: Store, token: string): Promise<OpenClaim> {
  const found = await store.global.claims.byToken(hashForLookup(token))
  if (found?.state !== 'provisional') {
    throw new GridError('link_expired', 'This claim link is unknown, or its agents were claimed already.')
  }
  const { home, ownerEmail } = found
  return { home, ownerEmail, agents: await store.global.claims.agents(home) }
}

/** A signed-in person. */
export interface Claimant {
  user: { id: string; email: string; emailVerifiedAt: number | null }
  sessionId: string
}

/** What becomes of the agents. Ids; every live one is in one of the lists. */
export interface Decision {
  keep: string[]
  discard: string[]
}

/**
 * Whether a person may claim: their mailbox is the one that the signups named, and proved. Having the link proves
 * nothing, because the agent has it too. Fails with `not_allowed`.
 */
export function checkClaimant({ user }: Claimant, { ownerEmail }: OpenClaim): void {
  if (user.email === ownerEmail && user.emailVerifiedAt !== null) return
  throw new GridError(
    'not_allowed',
    `Only the owner of ${ownerEmail} can claim these agents. Prove that mailbox first.`,
  )
}

/**
 * Make the provisional account one of the person's own, under a name; their trial ends. Discarded agents lose their
 * keys and are deleted. Resolves to the account's id.
 * Fails with `link_expired`, `not_allowed`, `invalid_input` or, when agents came or went meanwhile, `claim_changed`.
 */
export async function claimAccount(
  store: Store,
  token: string,
  claimant: Claimant,
  input: Decision & { name: string },
  requestId: string | null,
): Promise<string> {
  const name = checkName(input.name, 'name')
  const { user, sessionId } = claimant
  return await withOpenClaim(store, token, claimant, input, async ({ home, ownerEmail, agents }) => {
    const at = store.deps.now()
    const { keep, discard } = input
    const account = store.account(home, { type: 'user', userId: user.id, role: 'owner', sessionId })
    const call = { tool: 'claim_account', arguments: { name, ...byAlias(agents, input) }, requestId }
    await recorded(account, call, (account) =>
      account.write([
        ...store.global.claims.claim({ from: home, user: user.id, email: ownerEmail, keep, discard, at }, name),
        store.global.users.addMembership(home, user.id, 'owner', at),
        ...discarded(account, discard, at),
      ]))
    return home
  })
}

/**
 * Move the kept agents, with their keys and their mail, into an account that the person owns; their trial ends.
 * Discarded agents lose their keys and are deleted.
 * Fails as `claimAccount` does, and with `not_allowed` for an account that the person does not own.
 */
export async function mergeClaim(
  store: Store,
  token: string,
  claimant: Claimant,
  into: { id: string; account: AccountStore },
  decision: Decision,
  requestId: string | null,
): Promise<string> {
  requirePermission(into.account.actor, 'own')
  const { user } = claimant
  return await withOpenClaim(store, token, claimant, decision, async ({ home, ownerEmail, agents }) => {
    const at = store.deps.now()
    const { keep, discard } = decision
    const from = store.account(home, { type: 'system', job: 'claim' })
    const call = { tool: 'merge_account', arguments: byAlias(agents, decision), requestId }
    await recorded(into.account, call, (account) =>
      account.write([
        ...store.global.claims.merge({ from: home, user: user.id, email: ownerEmail, keep, discard, at }, into.id),
        ...discarded(from, discard, at),
      ]))
    return into.id
  })
}

/** Look, check and act; when the write meets something that changed in between, look again and say what. */
async function withOpenClaim(
  store: Store,
  token: string,
  claimant: Claimant,
  { keep, discard }: Decision,
  act: (claim: OpenClaim) => Promise<string>,
): Promise<string> {
  return await againOnConflict(async () => {
    const claim = await openClaim(store, token)
    checkClaimant(claimant, claim)
    const decided = [...keep, ...discard].sort()
    const live = claim.agents.map(({ id }) => id).sort()
    if (decided.length !== live.length || decided.some((id, n) => id !== live[n])) {
      throw new GridError('claim_changed', 'Agents came or went since the page was made. Decide again.')
    }
    const id = await act(claim)
    // Whoever waits for mail looks again, and finds that its agent was deleted or moved.
    store.waiting.wakes.wake(decided)
    return id
  })
}

/** The end of agents nobody wants: as `deleteAgent`, in the unit of the claim. */
function discarded({ change }: AccountStore, ids: string[], at: number): Statement[] {
  return ids.flatMap((id) => [
    change.keys.revokeOfAgent(id, at),
    change.handOuts.park(id, at),
    change.agents.softDelete(id, at),
  ])
}

function byAlias(agents: Claimable[], { keep, discard }: Decision) {
  const aliases = (ids: string[]) => agents.filter(({ id }) => ids.includes(id)).map(({ alias }) => `@${alias}`)
  return { kept: aliases(keep), discarded: aliases(discard) }
}
