import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import { bareAlias } from './alias.ts'

/** A live agent of the account by id or alias. Fails with `agent_not_found`, alike for missing, deleted and foreign. */
export async function findAgent(account: AccountStore, ref: string, field?: string): Promise<Agent> {
  const { agents } = account.read
  const agent = await agents.byId(ref.trim()) ?? await agents.byAlias(bareAlias(ref))
  if (!agent) throw new GridError('agent_not_found', `Agent '${ref}' not found`, { field })
  return agent
}
