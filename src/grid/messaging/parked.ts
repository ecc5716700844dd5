/** Lists and requeues parked messages, for the account's admins. See docs/delivery.md, "Parked messages". */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { findAgent } from '../agents/find-agent.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

const maxListed = 100

/** Returns parked messages of the account's live agents, most recently parked first, at most 100. */
export async function parkedMessages(account: AccountStore) {
  requireAdmin(account.actor)
  return await account.read.parked.list(maxListed)
}

/**
 * Makes an agent's parked messages unread again, at most 500, oldest first. `agent` is an id or alias. Each of these
 * messages can be released five more times. Resolves to the numbers of messages requeued and remaining. Fails with
 * `agent_not_found` or `message_not_found`.
 */
export async function requeueMessages(
  account: AccountStore,
  input: { agent: string; messageId?: string },
): Promise<{ alias: string; requeued: number; left: number }> {
  requireAdmin(account.actor)
  const { id, alias } = await findAgent(account, input.agent)
  const messageId = input.messageId?.toLowerCase() ?? null
  if (await account.read.parked.count(id, messageId) === 0) {
    if (messageId === null) return { alias, requeued: 0, left: 0 }
    throw new GridError('message_not_found', `No parked message of @${alias} has this id.`)
  }
  const requeued = await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const { agents, parked } = account.change
    const before = [...precondition, agents.requireLive([id])]
    const rows = await account.write([...before, ...parked.requeue(id, messageId)])
    return rows[before.length]
  })
  return { alias, requeued: requeued.length, left: await account.read.parked.count(id) }
}
