import { GridError } from '../../errors.ts'
import { normaliseAlias } from '../../lib/alias.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent, ProgramType } from '../../store/account/agents.ts'

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

/**
 * A live agent of the account that programs act as, by id or alias. Fails with `agent_not_found` as `findAgent` does, and
 * with `not_allowed` if it is a person: only they decide about their alias, and it has no key.
 */
export async function findProgram(account: AccountStore, ref: string): Promise<Agent & { type: ProgramType }> {
  const { type, ...agent } = await findAgent(account, ref)
  if (type !== 'human') return { ...agent, type }
  throw new GridError(
    'not_allowed',
    `@${agent.alias} is a person. Only they can change or give up their alias, and no program can act as them.`,
  )
}
