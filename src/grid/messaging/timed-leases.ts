/** Leases of a program that works on messages for a while. See docs/delivery.md, "Leases of runners". */
import { type Actor, callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { isOwnId, newId } from '../../lib/id.ts'
import { second } from '../../lib/time.ts'
import { type AccountStore, writeParts } from '../../store/account.ts'
import type { LeaseSelection } from '../../store/account/leases.ts'
import type { NewMessage } from '../../store/account/new-message.ts'
import { maxOpenLeases } from '../../store/account/timed-leases.ts'
import { budgetOf, maxBatch, type PageSize } from './inbox-message.ts'
import type { LeasePart, SendPart } from './outgoing-message.ts'
import { type Claim, claimed, claimMessages, planClaim, type PlannedClaim, release } from './read-messages.ts'
import { type WaitOptions, waitUntilFound } from './wait-for-messages.ts'

export const leaseSeconds = { min: 30, default: 600, max: 43_200 }

export interface LeaseInput extends PageSize {
  seconds?: number
  /** Only these messages, as far as they are unread; or only those of a conversation. Not both. */
  messageIds?: readonly string[]
  conversationId?: string
  /** The idempotency key of the send that takes it as `next`. Its open lease, if there is one, is taken again. */
  key?: string
}

/** Messages that the caller has until `expiresAt`. Without messages there is no lease. */
export interface TimedLease extends Omit<Claim, 'lastSeq'> {
  expiresAt?: number
}

/** Lease unread messages as `leaseMessages` does, and wait for them. `acks` is acknowledged first. */
export async function waitForLease(
  account: AccountStore,
  input: LeaseInput,
  wait: WaitOptions,
  acks?: LeasePart,
): Promise<TimedLease> {
  if (acks) await ackMessages(account, acks)
  return await waitUntilFound(account, (wokenAt) => leaseMessages(account, input, wokenAt), wait)
}

/** Lease unread messages of the calling agent for some time. Its expired leases are released first. */
export async function leaseMessages(account: AccountStore, input: LeaseInput, wokenAt?: number): Promise<TimedLease> {
  const again = input.key !== undefined && await leaseAgain(account, input, input.key)
  if (again) return again

  const options = await newLease(account, input)
  return leasedUntil(account, options.expiresAt, await claimMessages(account, budgetOf(input), { ...options, wokenAt }))
}

/** The lease that the first send under this key took, for a repeat of it. It is extended. */
async function leaseAgain(account: AccountStore, input: LeaseInput, key: string): Promise<TimedLease | undefined> {
  const { agentId } = callingAgent(account.actor)
  const { change, deps, read } = account
  const at = deps.now()
  const held = await read.timedLeases.byKey(agentId, key, at)
  if (!held) return undefined
  // Later than before, so that the lease is not released when the first answer turns out to be lost.
  const expiresAt = Math.max(expiryOf(input, at), held.expiresAt + 1)
  const rows = await writeParts(account, {
    extended: change.timedLeases.extend(agentId, held.id, at, expiresAt),
    messages: change.leases.messages(agentId, held.id, maxBatch, at),
  })
  if (rows.extended.length === 0) return undefined
  return leasedUntil(account, expiresAt, await claimed(account, budgetOf(input), held, rows.messages))
}

/** The lease of `next`, made in the unit of a send. Undefined if there is nothing to lease. */
export async function planLease(account: AccountStore, input: LeaseInput): Promise<PlannedClaim | undefined> {
  return await planClaim(account, budgetOf(input), await newLease(account, input))
}

/** What every new lease begins with: `invalid_input`, `lease_limit_reached`, and the end of expired leases. */
async function newLease(account: AccountStore, input: LeaseInput) {
  const { agentId, credentialId } = callingAgent(account.actor)
  const selection = selectionOf(input)
  const at = account.deps.now()
  const { timedLeases } = account.read
  const { open, expired } = await timedLeases.ofAgent(agentId, at)
  if (open.length >= maxOpenLeases) {
    throw new GridError(
      'lease_limit_reached',
      `The agent has ${maxOpenLeases} open leases. Acknowledge or release one, or wait until one expires.`,
    )
  }
  // Together they share a commit.
  await Promise.all(expired.map((id) => release(account, agentId, id)))

  return { holder: credentialId, expiresAt: expiryOf(input, at), selection, key: input.key }
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

/** Let a lease expire `seconds` from now. Resolves to that time. Fails with `stale_lease` or `lease_not_found`. */
export async function extendLease(account: AccountStore, leaseId: string, seconds: number): Promise<number> {
  const { agentId } = callingAgent(account.actor)
  const at = account.deps.now()
  const expiresAt = at + seconds * second
  const [extended] = await account.write([account.change.timedLeases.extend(agentId, leaseId, at, expiresAt)])
  if (extended.length === 0) throw await noLease(account, leaseId)
  account.waiting.presence.leased(agentId, expiresAt)
  return expiresAt
}

/** The work on a lease, or on some of its messages, is done. Resolves to how many these are. */
export async function ackMessages(account: AccountStore, part: LeasePart): Promise<number> {
  const at = account.deps.now()
  const rows = await writeParts(account, account.change.timedLeases.ack(leasedBy(account.actor, part), newId(), at))
  const found = await countOr(account, part.leaseId, at, Number(rows.ended[0].n))
  await leaseChanged(account)
  return found
}

/** The work was given up: the messages are unread again, and redelivered. Resolves to how many these are. */
export async function releaseMessages(account: AccountStore, part: LeasePart): Promise<number> {
  const { agentId } = callingAgent(account.actor)
  const at = account.deps.now()
  const into = newId()
  const rows = await writeParts(account, account.change.timedLeases.split(leasedBy(account.actor, part), into, at))
  const found = await countOr(account, part.leaseId, at, Number(rows.ended[0].n))
  // They have a lease of their own by now, which would expire as the other one.
  if (found > 0) await release(account, agentId, into)
  await leaseChanged(account)
  return found
}

/** The caller did not get its lease: release it, unless a repeat has got it since, or its caller has ended it. */
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

/** A lease of the calling agent has ended: the ones that are left tell whether a runner works. */
async function leaseChanged(account: AccountStore): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  const { deps, read: { timedLeases }, waiting: { presence } } = account
  const until = await timedLeases.lastExpiry(agentId, deps.now())
  if (until === null) presence.leaseEnded(agentId)
  else presence.leased(agentId, until)
}

export function acksPart(account: AccountStore, { id, at }: NewMessage, acks: LeasePart): SendPart {
  const { timedLeases } = account.change
  const leased = leasedBy(account.actor, acks)
  const { move, close } = timedLeases.ack(leased, newId(), at)
  return {
    preconditions: [timedLeases.requireHeld(leased, id, at)],
    statements: [move, close],
    needsMessage: true,
    refuse: () => requireHeld(account, acks),
    stored: () => leaseChanged(account),
  }
}

/** A send is repeated that acks: what it answers is acked now, unless that was done with it. */
export async function ackAgain(account: AccountStore, part: LeasePart): Promise<void> {
  await writeParts(account, account.change.timedLeases.ack(leasedBy(account.actor, part), newId(), account.deps.now()))
}

/** Fails with `stale_lease` or `lease_not_found` unless the lease is open and has these messages. */
export async function requireHeld(account: AccountStore, { leaseId, messageIds }: LeasePart): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  const { deps, read: { timedLeases } } = account
  const at = deps.now()
  const isHeld = messageIds
    ? isSubset(messageIds, await timedLeases.messageIds(agentId, leaseId, at))
    : await timedLeases.isOpen(agentId, leaseId, at)
  if (!isHeld) {
    throw await noLease(account, leaseId, messageIds && 'This lease has ended, or it does not have these messages.')
  }
}

function isSubset(ids: readonly string[], of: readonly string[]): boolean {
  const found = new Set(of)
  return found.size > 0 && ids.every((id) => found.has(id.toLowerCase()))
}

function leasedBy(actor: Actor, { leaseId, messageIds }: LeasePart) {
  return {
    agent: callingAgent(actor).agentId,
    lease: leaseId,
    messages: messageIds?.map((id) => id.toLowerCase()),
  }
}

/** A count of 0 is an answer only for a lease that is open. */
async function countOr(account: AccountStore, leaseId: string, at: number, n: number): Promise<number> {
  const { agentId } = callingAgent(account.actor)
  if (n === 0 && !await account.read.timedLeases.isOpen(agentId, leaseId, at)) throw await noLease(account, leaseId)
  return n
}

/** `stale_lease`, or `lease_not_found` for what cannot be the id of a lease. A lease of another agent looks like one that has ended. */
async function noLease(
  { actor, read }: AccountStore,
  leaseId: string,
  message = 'This lease has ended: it expired, or it was acknowledged or released.',
): Promise<GridError> {
  const use = 'Use the lease_id of the answer that leased the messages.'
  if (!isOwnId(leaseId)) return new GridError('lease_not_found', `There never was a lease with this id. ${use}`)
  if (await read.inbox.received(callingAgent(actor).agentId, leaseId.toLowerCase())) {
    return new GridError('lease_not_found', `This is the id of a message and not of a lease. ${use}`)
  }
  return new GridError('stale_lease', `${message} Its messages may be with another reader now, so nothing was done.`)
}
