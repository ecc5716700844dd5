/** Reading: the unread messages of the calling agent are leased to the caller and count as read. */
import { callingAgent } from '../../auth/actor.ts'
import { newId } from '../../lib/id.ts'
import { type AccountStore, writeParts } from '../../store/account.ts'
import { cursorAt } from './cursor.ts'
import { asGridMessage, budgetOf, type GridMessage, type PageSize, rendered } from './inbox-message.ts'
import { ackLease, type Lease, leaseOf, parkDamaged, releaseUnknown } from './leases.ts'

export interface Batch {
  messages: GridMessage[]
  /** How many more messages are unread; 100 stands for 100 or more. */
  remaining: number
  /** The position of the last message of the batch, for reading again later. Opaque. */
  cursor: string
  /** The turns of the conversation with their senders without input from outside, if the agent is to be told. */
  turns?: number
  /** The lease on the messages; undefined without messages. */
  lease?: Lease
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
  const { agentId, alias } = callingAgent(account.actor)
  const { change, deps, instanceId, read: { inbox, leases }, waiting: { notifier } } = account
  const budget = budgetOf(input)
  for (;;) {
    // Only an inbox that has probably something to lease is claimed without a look, because a claim waits for others.
    const expected = notifier.expected(agentId) || await inbox.unread(agentId)
    if (expected === 0) {
      return { messages: [], remaining: 0, cursor: cursorAt(account, agentId, await inbox.lastRead(agentId)) }
    }

    const lease = { id: newId(), agent: agentId, holder: instanceId, at: deps.now(), expiresAt: null }
    const parts = change.leases.take(lease, { ...budget, expected }, wokenAt ?? null)
    const rows = await writeParts(account, parts).catch((error) => releaseUnknown(account, lease, error))
    const leased = leases.messages(rows.messages)
    const { messages, damaged } = rendered(leased.messages, (message, introducesSender) => {
      return asGridMessage(message, { maxChars: budget.maxChars, introducesSender })
    })
    // Reading the message of a task makes it `working`, in the same unit.
    notifier.wake(leased.messages.flatMap(({ taskId }) => taskId === null ? [] : [taskId]))
    const turns = account.turns.read(alias, leased.messages)
    if (damaged.length > 0) await parkDamaged(account, lease.id, damaged)
    if (messages.length === 0 && damaged.length > 0) ackLease(account, lease.id)
    const remaining = leased.remaining ?? await inbox.unread(agentId)
    notifier.expect(agentId, remaining)
    // Messages that were all parked do not make the inbox empty, nor those that came after a claim of nothing.
    if (messages.length === 0 && remaining > 0) continue
    return {
      messages,
      remaining,
      cursor: cursorAt(account, agentId, leased.messages.at(-1)?.seq ?? await inbox.lastRead(agentId)),
      ...(turns !== undefined && { turns }),
      ...(messages.length > 0 && { lease: leaseOf(account, lease.id) }),
    }
  }
}
