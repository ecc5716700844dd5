/** Sends messages at their time. See docs/delivery.md, "Sending later". */
import { sendScheduled } from '../grid/messaging/send-later.ts'
import type { Store } from '../store/store.ts'

const maxAtATime = 100

/** Several processes may do this at the same time: the unit of the message removes it from those that wait. */
export async function sendDue(store: Store, signal: AbortSignal): Promise<void> {
  const { deps: { now, log }, global } = store
  for (const { accountId, id, agentId } of await global.scheduled.due(now(), maxAtATime)) {
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
      log.warn('A message could not be sent at its time', { error, account: accountId })
    }
  }
}
