/** Changes to an existing agent. For its key see `agent-keys.ts`. */
import { requireAdmin } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import { type AccessPolicy, type Agent, noToken, type Visibility } from '../../store/account/agents.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { tokenOfOtherServer } from '../token-of-other-server.ts'
import { checkAccessList, checkDescription, checkRemoteUrl, refuseUnknownAliases, sealRemoteToken } from './agents.ts'
import { findProgram } from './find-agent.ts'

/** Omitted fields stay unchanged. Alias and type cannot be changed. */
export interface AgentUpdate {
  /** Id or alias. */
  agent: string
  visibility?: Visibility
  /** `auto_approve` clears the access list. */
  accessPolicy?: AccessPolicy
  accessList?: string[]
  description?: string
  remoteUrl?: string
  /** Null removes the stored token. */
  remoteToken?: string | null
  /** Whether its plain replies over A2A are messages. See docs/protocol.md, "Message replies". */
  messageReplies?: boolean
}

/**
 * Change the settings of an agent of the account. A stored token stays with its server: a `remoteUrl` of another origin
 * requires a new token, or none.
 * Fails with `wrong_credential`, `not_allowed`, `agent_not_found`, `invalid_input` or `write_conflict`.
 */
export async function updateAgent(account: AccountStore, input: AgentUpdate): Promise<{ agent: Agent }> {
  requireAdmin(account.actor)
  const { remoteToken, messageReplies } = input
  return await retryOnConflict(async () => {
    const before = await findProgram(account, input.agent)
    const agent: Agent = {
      ...before,
      visibility: input.visibility ?? before.visibility,
      accessPolicy: input.accessPolicy ?? before.accessPolicy,
      description: input.description === undefined ? before.description : checkDescription(input.description),
      remoteUrl: input.remoteUrl === undefined || input.remoteUrl === before.remoteUrl
        ? before.remoteUrl
        : checkRemoteUrl(account.deps.config, before.type, input.remoteUrl),
    }
    const isOtherServer = remoteToken === undefined && originOf(agent) !== originOf(before)
    if (isOtherServer && (await account.read.agentSettings.byId(agent.id)).hasRemoteToken) {
      throw tokenOfOtherServer('remoteToken')
    }
    const isOpen = agent.accessPolicy === 'auto_approve'
    const given = input.accessList ?? (isOpen ? [] : undefined)
    const accessList = given && checkAccessList(agent.accessPolicy, given)
    if (accessList !== undefined) {
      // A list that becomes another kind of list is a new one.
      const isSame = agent.accessPolicy === before.accessPolicy
      await refuseUnknownAliases(
        account,
        accessList,
        isSame ? await account.read.agentSettings.accessList(agent.id) : [],
      )
    }
    const { agents, agentSettings } = account.change
    await account.write([
      agents.requireLive([agent.id]),
      ...(isOtherServer ? [agentSettings.requireNoToken(agent.id)] : []),
      agentSettings.update(agent.id, { ...agent, messageReplies }),
      ...(accessList === undefined ? [] : [
        agentSettings.clearAccess(agent.id),
        agents.addAccess(agent.id, accessList),
      ]),
      ...(remoteToken === undefined ? [] : [
        agentSettings.setToken(
          agent.id,
          remoteToken === null ? noToken : await sealRemoteToken(account, agent, remoteToken),
        ),
      ]),
    ])
    return { agent }
  })
}

function originOf({ remoteUrl }: Agent): string | undefined {
  return remoteUrl === null ? undefined : new URL(remoteUrl).origin
}
