/** Reads unread messages, which are leased to the caller until it acks or releases them. See docs/delivery.md. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError, isStorageFull } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { minute } from '../../lib/time.ts'
import { type AccountStore, type UnitRows, writeParts } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { LeaseParts, LeaseSelection, NewLease } from '../../store/account/leases.ts'
import {
  asGridMessage,
  type Budget,
  budgetOf,
  type DamagedMessage,
  type GridMessage,
  type PageSize,
  rendered,
} from './inbox-message.ts'
import { cursorAt } from './read-again.ts'
import { turnsOfRead } from './turns.ts'

/** How long after a claim's response was lost the database may still execute the claim. */
const lateClaimMs = 5 * minute

/** A lease of the calling agent, for the code that sends the response: call `ack` or `release`. Neither fails. */
export interface Lease {
  readonly id: string
  /** Marks the messages as arrived. Costs no commit. */
  ack(): void
  /** Makes messages that did not arrive unread again, for redelivery. */
  release(): Promise<void>
}

export function leaseOf(account: AccountStore, leaseId: string): Lease {
  return {
    id: leaseId,
    ack: () => ackLease(account, leaseId),
    release: () => release(account, callingAgent(account.actor).agentId, leaseId),
  }
}

function ackLease(account: AccountStore, leaseId: string): void {
  account.writeLater([account.change.leases.ack(leaseId)])
}

/** Throws the error of a failed claim. If the lease may exist, it is released once the database answers. */
export function releaseUnknown(account: AccountStore, lease: NewLease, error: unknown): never {
  if (!(error instanceof GridError) || !error.details.notExecuted) {
    const at = account.deps.now()
    account.writeLater(account.change.leases.giveUp({ ...lease, at, expiresAt: at + lateClaimMs }))
  }
  throw error
}

/** Releases a lease that has expired or whose holder is gone. */
export async function releaseAbandoned(account: AccountStore, agentId: string, leaseId: string): Promise<void> {
  requireAdmin(account.actor)
  await release(account, agentId, leaseId)
}

/** Parks leased messages that cannot be shown. If released, they would be redelivered forever. Never fails. */
async function parkDamaged(account: AccountStore, leaseId: string, damaged: DamagedMessage[]): Promise<void> {
  const { actor, deps: { log, now }, change } = account
  for (const { message, error } of damaged) {
    // Logs only the error's name, because its text may quote the message.
    const fault = error instanceof Error ? error.name : typeof error
    log.error('A message that cannot be shown is parked', { messageId: message.id, fault })
  }
  const seqs = damaged.map(({ message }) => message.seq)
  try {
    await account.write([change.leases.parkLeased(callingAgent(actor).agentId, leaseId, seqs, now())])
  } catch (error) {
    // Without parking, the message counts as read, and later reads omit it.
    log.warn('A message that cannot be shown was not parked', { error })
  }
}

/** Releases a lease. If the database refuses the write, the release is retried later, or by the next process. */
export async function release(account: AccountStore, agentId: string, leaseId: string): Promise<void> {
  const { change, deps: { log, now } } = account
  const statements = change.leases.release(agentId, leaseId, now())
  try {
    await account.write(statements)
  } catch (error) {
    if (!isStorageFull(error)) log.warn('A lease will be released later', { error, leaseId })
    account.writeLater(statements)
  }
}

export interface Batch {
  messages: GridMessage[]
  /** The number of further unread messages; 100 means 100 or more. */
  remaining: number
  /** The position of the last message of the batch, for reading again later. Opaque. Undefined without messages. */
  cursor?: string
  /** The highest turn count of the messages' conversations within an hour, if the agent needs it. */
  turns?: number
  lease?: Lease
}

export interface Claim extends Pick<Batch, 'messages' | 'remaining' | 'turns'> {
  leaseId?: string
  lastSeq?: number
}

/**
 * Leases the oldest unread messages of the calling agent: at most `limit`, and not more than fit into `maxChars`. A
 * longer first message is leased alone and shown shortened. The caller acks the lease once the response is sent, or
 * releases it; if the process dies first, it is released. `wokenAt` is when the wait for them ended. See
 * docs/delivery.md, "Reading".
 */
export async function readMessages(account: AccountStore, input: PageSize, wokenAt?: number): Promise<Batch> {
  const { agentId } = callingAgent(account.actor)
  const { instanceId } = account
  const { leaseId, lastSeq, ...claimed } = await claimMessages(account, budgetOf(input), {
    holder: instanceId,
    expiresAt: null,
    wokenAt,
  })
  return {
    ...claimed,
    ...(lastSeq !== undefined && { cursor: cursorAt(account, agentId, lastSeq) }),
    ...(leaseId !== undefined && { lease: leaseOf(account, leaseId) }),
  }
}

interface ClaimOptions extends Pick<NewLease, 'holder' | 'expiresAt' | 'key'> {
  wokenAt?: number
  selection?: LeaseSelection
}

/** A planned lease with the statements that create it. */
export interface PlannedClaim {
  lease: NewLease
  parts: LeaseParts
}

/**
 * Leases the oldest unread messages of the calling agent that fit. Damaged messages are parked. `unread` is the unread
 * count, if it was just read.
 */
export async function claimMessages(
  account: AccountStore,
  budget: Budget,
  options: ClaimOptions,
  unread?: number,
): Promise<Claim> {
  for (let known = unread;; known = undefined) {
    const planned = await planClaim(account, budget, options, known)
    if (!planned) return { messages: [], remaining: 0 }
    const { lease, parts } = planned
    const rows = await writeParts(account, parts).catch((error) => releaseUnknown(account, lease, error))
    const { isDamaged, ...claim } = await claimed(account, budget, lease, rows.messages)
    // The inbox may still have messages if all claimed ones were parked, or if messages arrived after an empty claim.
    const mayFindMore = claim.remaining > 0 && (options.selection === undefined || isDamaged)
    if (claim.messages.length > 0 || !mayFindMore) return claim
  }
}

/** Plans a lease. Resolves to undefined if nothing is unread. */
export async function planClaim(
  account: AccountStore,
  budget: Budget,
  { holder, expiresAt, key, wokenAt, selection }: ClaimOptions,
  unread?: number,
): Promise<PlannedClaim | undefined> {
  const { agentId } = callingAgent(account.actor)
  const { change, deps, read: { inbox } } = account
  // A claim waits for other commits, so it is skipped if nothing is unread.
  const expected = unread ?? await inbox.unread(agentId)
  if (expected === 0) return undefined
  const lease = { id: newId(), agent: agentId, holder, at: deps.now(), expiresAt, key }
  return { lease, parts: change.leases.take(lease, { ...budget, expected }, wokenAt ?? null, selection) }
}

/**
 * Sets the tasks of leased messages to `working`, in a separate unit, so that a read without tasks costs nothing extra.
 * If the process dies before this unit, nobody has received the messages. They are redelivered, and that read sets the
 * tasks.
 */
async function beginTasks(account: AccountStore, messages: readonly InboxMessage[]): Promise<void> {
  const { actor, change, deps: { log, now } } = account
  const statements = change.tasks.read(callingAgent(actor).agentId, messages.map(({ id }) => id), now())
  try {
    await account.write(statements)
  } catch (error) {
    log.warn('Tasks whose messages were read will be changed later', { error })
    account.writeLater(statements)
  }
}

/** Returns the content of a lease, from the rows of its `messages` part. */
export async function claimed(
  account: AccountStore,
  budget: Budget,
  lease: { id: string },
  rows: UnitRows[number],
): Promise<Claim & { isDamaged: boolean }> {
  const { agentId, alias } = callingAgent(account.actor)
  const { deps, read: { inbox, leases } } = account
  const leased = leases.messages(rows)
  for (const message of leased.messages) account.trace.spans?.follow(message)
  const { messages, damaged } = rendered(leased.messages, (message, introducesSender) => {
    return asGridMessage(message, { maxChars: budget.maxChars, introducesSender })
  })
  const ofTasks = leased.messages.filter(({ awaitsAnswer }) => awaitsAnswer !== 0)
  if (ofTasks.length > 0) await beginTasks(account, ofTasks)
  const turns = leased.longTurns && turnsOfRead(alias, leased.messages, leased.longTurns)
  if (damaged.length > 0) await parkDamaged(account, lease.id, damaged)
  if (messages.length === 0 && damaged.length > 0) ackLease(account, lease.id)
  const remaining = leased.remaining ?? await inbox.inTime(agentId, deps.now())
  return {
    messages,
    remaining,
    lastSeq: leased.messages.at(-1)?.seq,
    isDamaged: damaged.length > 0,
    ...(turns !== undefined && { turns }),
    ...(messages.length > 0 && { leaseId: lease.id }),
  }
}
