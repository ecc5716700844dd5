/** Reading: the unread messages of the calling agent are leased to the caller and count as read. */
import { callingAgent } from '../../auth/actor.ts'
import { newId } from '../../lib/id.ts'
import { type AccountStore, writeParts } from '../../store/account.ts'
import type { LeaseSelection, NewLease } from '../../store/account/leases.ts'
import { cursorAt } from './cursor.ts'
import { asGridMessage, type Budget, budgetOf, type GridMessage, type PageSize, rendered } from './inbox-message.ts'
import { ackLease, type Lease, leaseOf, parkDamaged, releaseUnknown } from './leases.ts'
import { turnsOfRead } from './turns.ts'

export interface Batch {
  messages: GridMessage[]
  /** How many more messages are unread; 100 stands for 100 or more. */
  remaining: number
  /** The position of the last message of the batch, for reading again later. Opaque. */
  cursor: string
  /** The most turns that one of their conversations had within an hour, if the agent is to be told. */
  turns?: number
  /** The lease on the messages; undefined without messages. */
  lease?: Lease
}

/** Unread messages that were leased, as they are shown. */
export interface Claim extends Pick<Batch, 'messages' | 'remaining' | 'turns'> {
  /** The id of the lease; undefined without messages. */
  leaseId?: string
  /** The `seq` of the last leased message; undefined without one. */
  lastSeq?: number
}

/**
 * Lease the oldest unread messages of the calling agent, in the order of storing: at most `limit`, and not more than
 * fit into one response or into `maxChars`. A first message that is longer is leased alone and shown shortened. If the
 * inbox is empty, nothing is written. The caller acks the lease once
 * the response is sent, or releases it. If the process dies before that, the lease is released. `wokenAt` is when a
 * wait ended.
 *
 * A message that cannot be shown is parked, and the others are leased.
 *
 * Fails with `wrong_credential`. See docs/protocol.md, "Grid message", and docs/delivery.md, "Leases".
 */
export async function readMessages(account: AccountStore, input: PageSize, wokenAt?: number): Promise<Batch> {
  const { agentId } = callingAgent(account.actor)
  const { instanceId, read: { inbox } } = account
  const { leaseId, lastSeq, ...claimed } = await claimMessages(account, budgetOf(input), {
    holder: instanceId,
    expiresAt: null,
    wokenAt,
  })
  return {
    ...claimed,
    cursor: cursorAt(account, agentId, lastSeq ?? await inbox.lastRead(agentId)),
    ...(leaseId !== undefined && { lease: leaseOf(account, leaseId) }),
  }
}

/** How messages are leased. */
export interface ClaimOptions extends Pick<NewLease, 'holder' | 'expiresAt'> {
  /** When a wait ended. */
  wokenAt?: number
  /** Which messages; without it, the oldest that are unread. */
  selection?: LeaseSelection
}

/**
 * Lease the oldest unread messages of the calling agent that fit. What cannot be shown is parked. Without messages there
 * is no lease. Fails with `wrong_credential`.
 */
export async function claimMessages(account: AccountStore, budget: Budget, options: ClaimOptions): Promise<Claim> {
  const { agentId, alias } = callingAgent(account.actor)
  const { change, deps, read: { inbox, leases }, waiting: { notifier } } = account
  const { holder, expiresAt, wokenAt, selection } = options
  for (;;) {
    // Only an inbox that has probably something to lease is claimed without a look, because a claim waits for others.
    const expected = notifier.expected(agentId) || await inbox.unread(agentId)
    if (expected === 0) return { messages: [], remaining: 0 }

    const lease = { id: newId(), agent: agentId, holder, at: deps.now(), expiresAt }
    const parts = change.leases.take(lease, { ...budget, expected }, wokenAt ?? null, selection)
    const rows = await writeParts(account, parts).catch((error) => releaseUnknown(account, lease, error))
    const leased = leases.messages(rows.messages)
    const { messages, damaged } = rendered(leased.messages, (message, introducesSender) => {
      return asGridMessage(message, { maxChars: budget.maxChars, introducesSender })
    })
    // Reading the message of a task makes it `working`, in the same unit.
    notifier.wake(leased.messages.flatMap(({ taskId }) => taskId === null ? [] : [taskId]))
    const turns = leased.longTurns && turnsOfRead(alias, leased.messages, leased.longTurns)
    if (damaged.length > 0) await parkDamaged(account, lease.id, damaged)
    if (messages.length === 0 && damaged.length > 0) ackLease(account, lease.id)
    const remaining = leased.remaining ?? await inbox.unread(agentId)
    notifier.expect(agentId, remaining)
    // Messages that were all parked do not make the inbox empty, nor those that came after a claim of nothing.
    const mayFindMore = remaining > 0 && (selection === undefined || damaged.length > 0)
    if (messages.length === 0 && mayFindMore) continue
    return {
      messages,
      remaining,
      lastSeq: leased.messages.at(-1)?.seq,
      ...(turns !== undefined && { turns }),
      ...(messages.length > 0 && { leaseId: lease.id }),
    }
  }
}
