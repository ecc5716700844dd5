/** Keys of agents after the first. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { type MintedKey, mintKey } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import type { Statement } from '../../store/driver/binding.ts'
import { keyRow } from './agents.ts'
import { againOnConflict } from '../retry-on-conflict.ts'
import { findAgent } from './find-agent.ts'

/**
 * A new key for an agent (id or alias), returned here and never again. All keys it had end with it.
 * Fails with `wrong_credential`, `not_allowed` or `agent_not_found`.
 */
export async function reissueKey(account: AccountStore, ref: string): Promise<{ agent: Agent; apiKey: string }> {
  requireAdmin(account.actor)
  const key = await mintKey('agent_key')
  const keyId = newId()
  return await againOnConflict(async () => {
    const agent = await findAgent(account, ref)
    await replace(account, agent.id, keyId, key)
    return { agent, apiKey: key.key }
  })
}

/**
 * A new key for the calling agent, shown here only; the keys it had before end at once. It goes to whoever a person let
 * in by OAuth, and so lives with that person's role and, as its tokens, ends when somebody ends the grant.
 * Fails with `wrong_credential`, or `write_conflict` when the agent or the grant ended meanwhile.
 */
export async function replaceAgentKey(
  account: AccountStore,
): Promise<{ agentId: string; alias: string; apiKey: string }> {
  const { agentId, alias, credentialId, userId } = callingAgent(account.actor)
  if (userId === undefined) throw new GridError('wrong_credential', 'Only who signed in by OAuth gets another key.')
  const key = await mintKey('agent_key')
  await replace(account, agentId, newId(), key, { userId, demand: [account.change.grants.requireLive(credentialId)] })
  return { agentId, alias, apiKey: key.key }
}

async function replace(
  account: AccountStore,
  agentId: string,
  keyId: string,
  key: MintedKey,
  { userId, demand }: { userId: string | null; demand: Statement[] } = { userId: null, demand: [] },
): Promise<void> {
  const { agents, keys } = account.change
  const at = account.deps.now()
  await account.write([
    ...demand,
    agents.requireLive([agentId]),
    keys.add({ ...keyRow(agentId, key), id: keyId, userId }, at),
    // Repeated after a lost answer, the unit must not end its own key: so all but this one end.
    keys.revokeOthersOfAgent(agentId, keyId, at),
  ])
  // Whoever waits with another key looks again, and finds its end.
  account.waiting.wakes.wake([agentId])
}
