/** Timed leases for programs that work on messages. See docs/delivery.md, "Leases of runners". */
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { second } from '../../lib/time.ts'
import { type AccountStore, writeParts } from '../../store/account.ts'
import type { LeaseSelection } from '../../store/account/leases.ts'
import { maxOpenLeases } from '../../store/account/timed-leases.ts'
import { leaseChanged, leasedBy, leaseLeft, noLease } from '../send/acks.ts'
import { budgetOf, maxBatch, type PageSize } from './inbox-message.ts'
import type { LeasePart } from '../message/outgoing-message.ts'
import { type Claim, claimed, claimMessages, planClaim, type PlannedClaim, release } from './read-messages.ts'
import { type WaitOptions, waitUntilFound } from './wait-for-messages.ts'

export const leaseSeconds = { min: 30, default: 600, max: 43_200 }

export interface LeaseInput extends PageSize {
  seconds?: number
  /** Lease only these unread messages, or those of one conversation. They cannot be combined. */
  messageIds?: readonly string[]
  conversationId?: string
  /** The idempotency key of the send that this `next` belongs to. An open lease of that key is reused. */
  key?: string
}

/** Messages leased to the caller until `expiresAt`. Without messages there is no lease. */
export interface TimedLease extends Omit<Claim, 'lastSeq'> {
  expiresAt?: number
}

/** Leases unread messages as `leaseMessages` does, and waits for them. `acks` is acknowledged first. */
export async function waitForLease(
  account: AccountStore,
  input: LeaseInput,
  wait: WaitOptions,
  acks?: LeasePart,
): Promise<TimedLease> {
  if (acks) await ackMessages(account, acks)
  return await waitUntilFound(account, (wokenAt) => leaseMessages(account, input, wokenAt), wait)
}

/** Leases unread messages of the calling agent for a limited time. Its expired leases are released first. */
export async function leaseMessages(account: AccountStore, input: LeaseInput, wokenAt?: number): Promise<TimedLease> {
  const again = input.key !== undefined && await leaseAgain(account, input, input.key)
  if (again) return again

  const { options, unread } = await newLease(account, input)
  const claim = await claimMessages(account, budgetOf(input), { ...options, wokenAt }, unread)
  return leasedUntil(account, options.expiresAt, claim)
}

/** Returns the lease that the first send with this key took, extended for a retry. */
async function leaseAgain(account: AccountStore, input: LeaseInput, key: string): Promise<TimedLease | undefined> {
  const { agentId } = callingAgent(account.actor)
  const { change, deps, read } = account
  const at = deps.now()
  const held = await read.timedLeases.byKey(agentId, key, at)
  if (!held) return undefined
  // A later expiry protects the lease from the first call, which may release it after a lost response.
  const expiresAt = Math.max(expiryOf(input, at), held.expiresAt + 1)
  const rows = await writeParts(account, {
    extended: change.timedLeases.extend(agentId, held.id, at, expiresAt),
    messages: change.leases.messages(agentId, held.id, maxBatch, at),
  })
  if (rows.extended.length === 0) return undefined
  return leasedUntil(account, expiresAt, await claimed(account, budgetOf(input), held, rows.messages))
}

/** Returns the lease of `next`, made in the unit of a send. Undefined if there is nothing to lease. */
export async function planLease(account: AccountStore, input: LeaseInput): Promise<PlannedClaim | undefined> {
  const { options, unread } = await newLease(account, input)
  return await planClaim(account, budgetOf(input), options, unread)
}

/**
 * Checks and prepares a new lease: fails with `invalid_input` or `lease_limit_reached`, and releases expired leases.
 * `unread` was read at the same time; undefined if releasing may have changed it.
 */
async function newLease(account: AccountStore, input: LeaseInput) {
  const { agentId, credentialId } = callingAgent(account.actor)
  const selection = selectionOf(input)
  const at = account.deps.now()
  const { timedLeases, inbox } = account.read
  const [{ open, expired }, unread] = await Promise.all([timedLeases.ofAgent(agentId, at), inbox.unread(agentId)])
  if (open.length >= maxOpenLeases) {
    throw new GridError(
      'lease_limit_reached',
      `The agent has ${maxOpenLeases} open leases. Acknowledge or release one, or wait until one expires.`,
    )
  }
  // The releases run concurrently, so that they share a commit.
  await Promise.all(expired.map((id) => release(account, agentId, id)))

  const options = { holder: credentialId, expiresAt: expiryOf(input, at), selection, key: input.key }
  return { options, unread: expired.length === 0 ? unread : undefined }
}

function expiryOf({ seconds = leaseSeconds.default }: LeaseInput, at: number): number {
  return at + seconds * second
}

export function leasedUntil(
  account: AccountStore,
  expiresAt: number,
  { leaseId, messages, remaining, turns }: Claim,
): TimedLease {
  if (leaseId === undefined) return { messages, remaining }
  account.waiting.presence.leased(callingAgent(account.actor).agentId, expiresAt)
  return { leaseId, expiresAt, messages, remaining, ...(turns !== undefined && { turns }) }
}

function selectionOf({ messageIds, conversationId }: LeaseInput): LeaseSelection | undefined {
  if (messageIds && conversationId !== undefined) {
    throw invalidInput('Give message_ids or conversation_id, not both.', 'message_ids')
  }
  if (messageIds) return { messages: messageIds.map((id) => id.toLowerCase()) }
  return conversationId === undefined ? undefined : { conversation: conversationId }
}

/** Lets a lease expire `seconds` from now. Resolves to that time. Fails with `stale_lease` or `lease_not_found`. */
export async function extendLease(account: AccountStore, leaseId: string, seconds: number): Promise<number> {
  const { agentId } = callingAgent(account.actor)
  const at = account.deps.now()
  const expiresAt = at + seconds * second
  const [extended] = await account.write([account.change.timedLeases.extend(agentId, leaseId, at, expiresAt)])
  if (extended.length === 0) throw await noLease(account, leaseId)
  account.waiting.presence.leased(agentId, expiresAt)
  return expiresAt
}

/** Acknowledges a lease, or some of its messages. Resolves to their number. */
export async function ackMessages(account: AccountStore, part: LeasePart): Promise<number> {
  const at = account.deps.now()
  const rows = await writeParts(account, account.change.timedLeases.ack(leasedBy(account.actor, part), newId(), at))
  const found = await countOr(account, part.leaseId, at, Number(rows.ended[0].n))
  leaseLeft(account, rows.left[0].at)
  return found
}

/** Releases messages: they are unread again, for redelivery. Resolves to their number. */
export async function releaseMessages(account: AccountStore, part: LeasePart): Promise<number> {
  const { agentId } = callingAgent(account.actor)
  const at = account.deps.now()
  const into = newId()
  const rows = await writeParts(account, account.change.timedLeases.split(leasedBy(account.actor, part), into, at))
  const found = await countOr(account, part.leaseId, at, Number(rows.ended[0].n))
  // These messages now have a separate lease with the same expiry.
  if (found > 0) await release(account, agentId, into)
  await leaseChanged(account)
  return found
}

/** Releases a lease that the caller did not get, unless a retry has taken it or ended it. */
export async function releaseUntaken(account: AccountStore, leaseId: string, expiresAt: number): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  const { change, deps } = account
  const unit = [
    change.timedLeases.requireUntil(leaseId, expiresAt),
    ...change.leases.release(agentId, leaseId, deps.now()),
  ]
  await account.write(unit)
  await leaseChanged(account)
}

/** Returns the count. Fails for a count of 0 if the lease is not open. */
async function countOr(account: AccountStore, leaseId: string, at: number, n: number): Promise<number> {
  const { agentId } = callingAgent(account.actor)
  if (n === 0 && !await account.read.timedLeases.isOpen(agentId, leaseId, at)) throw await noLease(account, leaseId)
  return n
}
