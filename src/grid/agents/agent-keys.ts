/** Keys of agents: replacing them all, and fetching one with an OAuth token. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { mintKey } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { keyRow } from './agents.ts'
import { findProgram } from './find-agent.ts'

/**
 * Replace all keys of an agent (id or alias) by a new one, which is returned only here.
 * Fails with `wrong_credential`, `not_allowed`, `agent_not_found` or `write_conflict`.
 */
export async function reissueKey(account: AccountStore, ref: string): Promise<{ agent: Agent; apiKey: string }> {
  requireAdmin(account.actor)
  const key = await mintKey('agent_key')
  const keyId = newId()
  return await retryOnConflict(async () => {
    const agent = await findProgram(account, ref)
    const { agents, keys } = account.change
    const at = account.deps.now()
    await account.write([
      agents.requireLive([agent.id]),
      keys.add({ ...keyRow(agent.id, key, account.actor), id: keyId }, at),
      // All but this one, so that a repeated unit after a lost response does not revoke its own key.
      keys.revokeOthersOfAgent(agent.id, keyId, at),
    ])
    // Waiting readers authenticate again, and find that their key was revoked.
    account.waiting.notifier.notify([agent.id])
    return { agent, apiKey: key.key }
  })
}

/**
 * Make a key for the calling agent, which is returned only here. Only for a caller with an OAuth token: the key is named
 * after the client, depends on the role of the token's user, and ends with the grant. It replaces the earlier key that
 * the same client fetched for the agent by leave of the same user, and no other.
 * Fails with `wrong_credential`, or `write_conflict` if the agent or the grant has ended meanwhile.
 *
 * See docs/security.md, "Fetched keys".
 */
export async function fetchAgentKey(
  account: AccountStore,
): Promise<{ agentId: string; alias: string; apiKey: string }> {
  const { agentId, alias, credentialId: grantId, userId } = callingAgent(account.actor)
  if (userId === undefined) {
    throw new GridError('wrong_credential', 'Only a caller with an OAuth access token can fetch a key.')
  }
  const key = await mintKey('agent_key')
  const name = (await account.read.grants.live(grantId))?.clientName ?? ''
  const row = { ...keyRow(agentId, key, account.actor), userId, grantId, name }
  const { agents, grants, keys } = account.change
  const at = account.deps.now()
  await account.write([
    grants.requireLive(grantId),
    agents.requireLive([agentId]),
    keys.add(row, at),
    keys.revokeOfClient(agentId, grantId, row.id, at),
  ])
  account.waiting.notifier.notify([agentId])
  return { agentId, alias, apiKey: key.key }
}
