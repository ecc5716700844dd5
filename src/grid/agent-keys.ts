/** Keys of agents after the first. */
import { callingAgent } from '../auth/actor.ts'
import { mintKey } from '../auth/secrets.ts'
import { newId } from '../lib/id.ts'
import type { AccountStore } from '../store/account.ts'

/**
 * A new key for the calling agent, shown here only; the keys it had before end at once.
 * Fails with `wrong_credential`, or `write_conflict` when the agent was deleted meanwhile.
 */
export async function replaceAgentKey(
  account: AccountStore,
): Promise<{ agentId: string; alias: string; apiKey: string }> {
  const { agentId, alias } = callingAgent(account.actor)
  const { key, hash, last4 } = await mintKey('agent_key')
  const row = { id: newId(), kind: 'agent_key' as const, agentId, userId: null, name: '', hash, last4 }
  const at = account.deps.now()
  const { agents, keys } = account.change
  await account.write([
    agents.requireLive([agentId]),
    keys.add(row, at),
    keys.revokeOthersOfAgent(agentId, row.id, at),
  ])
  // Whoever waits with another key looks again, and finds its end.
  account.waiting.wakes.wake([agentId])
  return { agentId, alias, apiKey: key }
}
