/** Replacement of agent keys. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { type MintedKey, mintKey } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import type { Statement } from '../../store/driver/binding.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { keyRow } from './agents.ts'
import { findAgent } from './find-agent.ts'

/**
 * Replace all keys of an agent (id or alias) by a new one, which is returned only here.
 * Fails with `wrong_credential`, `not_allowed`, `agent_not_found` or `write_conflict`.
 */
export async function reissueKey(account: AccountStore, ref: string): Promise<{ agent: Agent; apiKey: string }> {
  requireAdmin(account.actor)
  const key = await mintKey('agent_key')
  const keyId = newId()
  return await retryOnConflict(async () => {
    const agent = await findAgent(account, ref)
    await replaceKeys(account, agent.id, keyId, key)
    return { agent, apiKey: key.key }
  })
}

/**
 * Replace all keys of the calling agent by a new one, which is returned only here. Only for a caller with an OAuth
 * token: the key depends on the role of the token's user, and ends with the grant.
 * Fails with `wrong_credential`, or `write_conflict` if the agent or the grant has ended meanwhile.
 *
 * See docs/security.md, "Fetched keys".
 */
export async function replaceAgentKey(
  account: AccountStore,
): Promise<{ agentId: string; alias: string; apiKey: string }> {
  const { agentId, alias, credentialId, userId } = callingAgent(account.actor)
  if (userId === undefined) {
    throw new GridError('wrong_credential', 'Only a caller with an OAuth access token can fetch a key.')
  }
  const key = await mintKey('agent_key')
  const precondition = [account.change.grants.requireLive(credentialId)]
  await replaceKeys(account, agentId, newId(), key, { userId, precondition })
  return { agentId, alias, apiKey: key.key }
}

async function replaceKeys(
  account: AccountStore,
  agentId: string,
  keyId: string,
  key: MintedKey,
  { userId, precondition }: { userId: string | null; precondition: Statement[] } = { userId: null, precondition: [] },
): Promise<void> {
  const { agents, keys } = account.change
  const at = account.deps.now()
  await account.write([
    ...precondition,
    agents.requireLive([agentId]),
    keys.add({ ...keyRow(agentId, key), id: keyId, userId }, at),
    // All but this one, so that a repeated unit after a lost response does not revoke its own key.
    keys.revokeOthersOfAgent(agentId, keyId, at),
  ])
  // Waiting readers authenticate again, and find that their key was revoked.
  account.waiting.notifier.notify([agentId])
}
