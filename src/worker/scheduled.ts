/** Sends scheduled messages. See docs/delivery.md, "Sending later". */
import { sendScheduled } from '../grid/messaging/send-later.ts'
import type { Store } from '../store/store.ts'

const atATime = { limit: 100, ofAccount: 10 }

/**
 * Sends due messages. Safe to run in several processes, because the unit that sends a message removes it from the
 * schedule. Slow guardrails delay only messages of their own account.
 */
export async function sendDue(store: Store, signal: AbortSignal): Promise<void> {
  const { deps: { now }, global } = store
  const due = await global.scheduled.due(now(), atATime)
  const accounts = [...new Set(due.map(({ accountId }) => accountId))]
  await Promise.all(accounts.map((id) => sendOf(store, id, due.filter(({ accountId }) => accountId === id), signal)))
}

async function sendOf(
  store: Store,
  accountId: string,
  messages: { id: string; agentId: string }[],
  signal: AbortSignal,
): Promise<void> {
  for (const { id, agentId } of messages) {
    if (signal.aborted) return
    try {
      const system = store.account(accountId, { type: 'system', job: 'send-later' })
      const agent = await system.read.agents.byId(agentId)
      if (!agent) {
        await system.write([system.change.scheduled.remove(agentId, id)])
        continue
      }
      const { alias } = agent
      const account = store.account(accountId, { type: 'agent', agentId, alias, credentialId: 'send-later' })
      await sendScheduled(account, { agentId, alias }, id)
    } catch (error) {
      store.deps.log.warn('A scheduled message could not be sent', { error, account: accountId })
    }
  }
}
