/**
 * Claims: the owner of an email address takes over all or some of the agents that signed up with it. The claim link of
 * a signup does not prove ownership of the address, because the agent has the link too. The claim email contains the
 * same link with a second, secret token. See docs/security.md, "Signup and claims".
 */
import { requirePermission, type SignedInUser } from '../../auth/actor.ts'
import { hashPassword } from '../../auth/passwords.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import type { Claim, ClaimableAgent, ClaimOffer } from '../../store/global/claims.ts'
import type { Store } from '../../store/store.ts'
import { activityRow, recordActivity, type RecordedCall } from '../activity.ts'
import { refuseTooManyAgents, requireAgentLimit } from '../agents/agents.ts'
import { endAgent } from '../agents/end-agent.ts'
import { refuseTooManySkills, requireSkillLimit } from '../agents/skills.ts'
import type { Proved } from '../people/email-links.ts'
import { claimEmail } from '../people/email-templates.ts'
import { join } from '../people/join.ts'
import { linkExpired, linkLifetimeMs } from '../people/people.ts'
import { proveAddress } from '../people/prove-address.ts'
import { takeEmailAttempt } from '../people/throttle.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { checkName } from '../check-name.ts'

export type { ClaimOffer }

export interface OpenClaim {
  provisionalId: string
  /** The normalised email address from the signups. */
  ownerEmail: string
  agents: ClaimableAgent[]
}

/** Returns the claim of a link. Fails with `link_expired`; the error says whether the link is unknown or used. */
export async function openClaim({ global }: Store, token: string): Promise<OpenClaim> {
  const found = await global.claims.byToken(hashForLookup(token))
  if (!found) {
    throw new GridError(
      'link_expired',
      'This claim link is unknown. Unclaimed agents and their links are removed after a week.',
    )
  }
  const { state, ...claim } = found
  if (state !== 'provisional') {
    throw new GridError(
      'link_expired',
      'This claim link was used. Its agents were claimed together with all others of the same email address. Sign in with that address to see them.',
    )
  }
  return { ...claim, agents: await global.claims.agents(claim.provisionalId) }
}

/** Returns the agents that signed up with a user's address; undefined if none did, or the address is unverified. */
export async function findClaimOffer(
  { global }: Store,
  { email, emailVerifiedAt }: SignedInUser['user'],
): Promise<ClaimOffer | undefined> {
  return emailVerifiedAt === null ? undefined : await global.claims.offer(email)
}

/**
 * Returns the claim of an account that is offered to the user. Fails with an identical `not_found` whether the account
 * does not exist, was claimed, or is offered to another user.
 */
export async function openOfferedClaim({ global }: Store, { user }: SignedInUser, id: string): Promise<OpenClaim> {
  const found = user.emailVerifiedAt === null ? undefined : await global.claims.offered(id, user.email)
  if (!found) throw new GridError('not_found', 'There are no agents to claim here. They may have been claimed already.')
  return { ...found, agents: await global.claims.agents(id) }
}

/**
 * Emails a one-time link to the owner whom a claim names. The link verifies the owner's address and signs them in.
 * `alias` is the agent that just signed up. `address` is the client address for rate limits. Over a limit, no email is
 * sent. Fails with `link_expired`.
 */
export async function sendClaimEmail(store: Store, token: string, address: string, alias?: string): Promise<void> {
  const { ownerEmail } = await openClaim(store, token)
  const { global, deps: { config, log, email: emailSender, now } } = store
  if (!(await takeEmailAttempt(store, { purpose: 'claim', email: ownerEmail, address }))) {
    log.info('An email link was not sent: limit reached', { kind: 'claim' })
    return
  }
  const emailToken = mintLinkToken()
  const at = now()
  const link = { id: newId(), kind: 'claim' as const, tokenHash: emailToken.hash, userId: null, email: ownerEmail }
  await store.write([global.links.add({ ...link, expiresAt: at + linkLifetimeMs.claim }, at)])
  const url = `${config.appUrl}/claim/${token}/${emailToken.token}`
  emailSender.send({ to: ownerEmail, ...claimEmail(config, url, alias) })
}

/** Returns the address of a claim email's link, and whether a user has it. Fails with `link_expired`. */
export async function findClaimEmailLink(store: Store, token: string): Promise<{ email: string; isKnown: boolean }> {
  const link = await store.global.links.byToken('claim', hashForLookup(token), store.deps.now())
  if (!link?.email) throw linkExpired()
  return { email: link.email, isKnown: (await store.global.users.byEmail(link.email)) !== undefined }
}

/**
 * Uses up the link of a claim email, which verifies the email's address. If no user has the address yet, one is created
 * with `name` and `password` (empty for none). `session` is the live session of the browser. Fails with `link_expired`,
 * `invalid_input` or `write_conflict`.
 */
export async function redeemClaimEmailLink(
  store: Store,
  token: string,
  input: { name: string; password: string },
  requestId: string | null,
  session?: SignedInUser,
): Promise<Proved> {
  const { global, deps: { now } } = store
  return await retryOnConflict(async () => {
    const { email } = await findClaimEmailLink(store, token)
    const at = now()
    const hash = hashForLookup(token)
    const use = global.links.use('claim', hash, at)
    const known = await global.users.byEmail(email)
    if (known) {
      const requireOpen = global.links.requireOpen('claim', hash, at)
      const { isUnlinked } = await proveAddress(store, known, { requireOpen, use, session, requestId })
      return { userId: known.id, isUnlinked }
    }
    const name = checkName(input.name, 'name')
    const passwordHash = input.password === '' ? null : await hashPassword(input.password)
    const id = newId()
    await store.write([...use, global.users.add({ id, email, name, passwordHash, verifiedAt: at }, at)])
    return { userId: id, isUnlinked: false }
  })
}

/** What a user claims: the token of a claim link, or the provisional account that was offered. */
export type ClaimSource = string | { offered: string }

/** The decision about each agent, by id. Every live agent of the account is in exactly one of the lists. */
interface ClaimDecision {
  keep: string[]
  move: string[]
  discard: string[]
  into?: { id: string; account: AccountStore }
}

export function checkClaimant({ user }: SignedInUser, { ownerEmail }: OpenClaim): void {
  if (user.email === ownerEmail && user.emailVerifiedAt !== null) return
  throw new GridError(
    'not_allowed',
    `Only the owner of ${ownerEmail} can claim these agents. Verify that email address first.`,
  )
}

/**
 * Makes the user the owner of the provisional account, and names the account. Its trials end. Discarded agents lose
 * their keys and are deleted. Agents that move get a row in the other account, in the same unit. They keep their alias,
 * keys, skills, settings, unread messages, the idempotency keys of the last day, and the open tasks that they work on.
 * Resolves to the id of the provisional account.
 *
 * Fails with `link_expired` or `not_found`, depending on the source of the claim, with `not_allowed`, `invalid_input`
 * (also if the other account would have too many skills), `agent_limit_reached`, `write_conflict`, or `claim_changed`
 * if agents were added or deleted after the user saw the list.
 */
export async function claimAccount(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  input: ClaimDecision & { name: string },
  requestId: string | null,
): Promise<string> {
  const { keep, move, discard, into } = input
  const { user, sessionId } = claimant
  const decided = [...keep, ...move, ...discard]
  return await retryOnConflict(async () => {
    const { provisionalId: from, ownerEmail, agents } = await openDecided(store, source, claimant, decided)
    const name = checkName(input.name, 'name')
    if (move.length > 0 && !into) throw new GridError('invalid_input', 'Choose the account to move agents to.')
    if (into) requirePermission(into.account.actor, 'own')
    const at = store.deps.now()
    const account = store.account(from, { type: 'user', userId: user.id, role: 'owner', sessionId })
    const claim = { from, name, user: user.id, email: ownerEmail, decided, at }
    const aliasesOf = (ids: string[]) => agents.filter(({ id }) => ids.includes(id)).map(({ alias }) => `@${alias}`)
    const decision = { kept: aliasesOf(keep), moved: aliasesOf(move), discarded: aliasesOf(discard) }
    const moved = { tool: 'move_agents', arguments: { agents: decision.moved }, requestId }
    const ending = agents.filter(({ id }) => discard.includes(id))
    const discarded = await Promise.all(ending.map((agent) => endAgent(account, agent, at)))
    const moves = into ? await moveStatements(store, claim, move, into, moved) : []
    const call = { tool: 'claim_account', arguments: { name, ...decision }, requestId }
    await recordActivity(account, call, async (account) =>
      account.write([
        ...store.global.claims.claim(claim),
        ...await join(account, { id: user.id, role: 'owner' }, { by: 'claim', email: ownerEmail }),
        ...discarded.flat(),
        ...moves,
      ]))
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
    advice: 'Delete some of them first, or keep the agents in their own account.',
  })
  if (moved.length > 0) await refuseTooManyAgents(into, moved.length)
  return [
    ...await store.global.claims.move(claim, { to, moved, keysSince: claim.at - day }),
    ...(moved.length > 0 ? requireAgentLimit(into) : []),
    ...(added > 0 ? [requireSkillLimit(into)] : []),
    into.change.activity.add(activityRow(into.actor, call, 'ok', claim.at)),
  ]
}

/** Returns the claim if the user has decided about exactly its live agents. Otherwise fails with `claim_changed`. */
async function openDecided(
  store: Store,
  source: ClaimSource,
  claimant: SignedInUser,
  decided: string[],
): Promise<OpenClaim> {
  const claim = typeof source === 'string'
    ? await openClaim(store, source)
    : await openOfferedClaim(store, claimant, source.offered)
  checkClaimant(claimant, claim)
  const live = new Set(claim.agents.map(({ id }) => id))
  // Each live agent must appear exactly once.
  if (!decided.every((id) => live.delete(id)) || live.size > 0) {
    throw new GridError('claim_changed', 'Agents were added or deleted since the page was loaded. Choose again.')
  }
  return claim
}
