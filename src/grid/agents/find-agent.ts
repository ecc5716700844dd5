import { GridError } from '../../errors.ts'
import { normaliseAlias } from '../../lib/alias.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'

/**
 * A live agent of the account by id or alias. Fails with the same `agent_not_found` whether it is missing, deleted or
 * in another account.
 */
export async function findAgent(account: AccountStore, ref: string, field?: string): Promise<Agent> {
  const { agents } = account.read
  const agent = await agents.byId(ref.trim()) ?? await agents.byAlias(normaliseAlias(ref))
  if (!agent) throw new GridError('agent_not_found', `Agent '${ref}' not found`, { field })
  return agent
}
