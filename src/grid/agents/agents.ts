/** Creates, deletes and validates agents. */
import { limitsOf } from '../limits.ts'
import { type Actor, requireAdmin } from '../../auth/actor.ts'
import type { Config } from '../../config.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { aliasPattern, bareAlias, checkNewAlias, normaliseAlias } from '../../aliases.ts'
import { newId } from '../../lib/id.ts'
import { requireAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import { type MintedKey, mintKey } from '../../lib/secrets.ts'
import { hasAtMost } from '../../lib/text.ts'
import type { AccountStore } from '../../store/account.ts'
import {
  type AccessPolicy,
  type Agent,
  type AgentType,
  type CallersWait,
  type NewAgentRow,
  noToken,
  type ProgramType,
  type TokenColumns,
  type Visibility,
} from '../../store/account/agents.ts'
import type { NewKey } from '../../store/account/keys.ts'
import type { Statement } from '../../store/sql.ts'
import { externalPerHour } from '../send/pays-token.ts'
import { checkName } from '../check-name.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { endAgent } from './end-agent.ts'
import { findProgram } from './find-agent.ts'
import {
  areCleaned,
  attachSkills,
  checkSkills,
  cleanDescription,
  refuseTooManySkills,
  sanitized,
  type SkillInput,
} from './skills.ts'

export const maxDescriptionLength = 500
export const maxAccessList = 200

export interface NewAgent {
  /** A leading `@` and surrounding spaces are ignored. */
  alias: string
  type?: ProgramType
  visibility?: Visibility
  accessPolicy?: AccessPolicy
  /** Aliases of other accounts' agents that an `allow_list` admits or a `block_list` rejects. */
  accessList?: string[]
  description?: string
  remoteUrl?: string
  remoteToken?: string
  /** See `AgentUpdate`. */
  messageReplies?: boolean
  /** See `AgentUpdate`. */
  callersWait?: CallersWait
  skills?: SkillInput[]
  /** The name of the agent's first key. */
  keyName?: string
}

/** States the limit that protects the token of a public remote agent. */
export const externalShare = `Together they may send at most ${externalPerHour} messages an hour.`

/** Creates an agent in the account. The key is returned only here. See docs/protocol/messages.md, "Agents". */
export async function createAgent(
  account: AccountStore,
  input: NewAgent,
): Promise<{ agent: Agent; apiKey: string; sanitized?: true; note?: string }> {
  requireAdmin(account.actor)
  const alias = checkNewAlias(bareAlias(input.alias), account.deps.config.reservedAliases)
  const type = input.type ?? 'mcp'
  const { messageReplies, callersWait } = input
  const agent: Agent = {
    id: newId(),
    alias,
    type,
    visibility: input.visibility ?? 'private',
    accessPolicy: input.accessPolicy ?? 'auto_approve',
    description: checkDescription(input.description),
    remoteUrl: checkRemoteUrl(account.deps.config, type, input.remoteUrl),
    createdAt: account.deps.now(),
    lastSeenAt: null,
    remote: null,
  }
  const token = await sealRemoteToken(account, agent, input.remoteToken)
  const key = mintKey('agent_key')
  const keyName = input.keyName === undefined ? '' : checkName(input.keyName, 'name')
  const skills = checkSkills(input.skills ?? [])
  const accessList = checkAccessList(agent.accessPolicy, input.accessList ?? [])
  const isCleaned = agent.description !== (input.description ?? '') || areCleaned(input.skills ?? [])
  const isShared = agent.visibility === 'public' && input.remoteToken !== undefined
  const note = isShared && { note: `Agents of other accounts use the remoteToken too. ${externalShare}` }
  const created = { agent, apiKey: key.key, ...(isCleaned && sanitized), ...note }

  return await retryOnConflict(async () => {
    // The agent exists if an earlier attempt succeeded and its response was lost.
    if (await account.read.agents.byId(agent.id)) return created
    await refuseTakenAlias(account, alias)
    await refuseTooManySkills(account, skills)
    await refuseTooManyAgents(account)
    await account.write([
      ...newAgentStatements(account, { ...agent, ...token, signupId: null }, key, keyName),
      account.change.agents.addAccess(agent.id, accessList),
      ...(messageReplies !== undefined || callersWait !== undefined
        ? account.change.agentSettings.update(agent.id, { ...agent, messageReplies, callersWait })
        : []),
      ...attachSkills(account, agent.id, skills),
      ...requireAgentLimit(account),
    ])
    return created
  })
}

/** Soft-deletes an agent (id or alias), see `endAgent`. Its alias stays reserved. */
export async function deleteAgent(account: AccountStore, ref: string): Promise<{ id: string; alias: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const { id, alias } = await findProgram(account, ref)
    await account.write(await endAgent(account, { id, alias }, account.deps.now()))
    return { id, alias }
  })
}

/** Returns statements that add an agent and its first key. The unit fails if the alias is taken when it commits. */
export function newAgentStatements(
  account: AccountStore,
  agent: NewAgentRow,
  key: MintedKey,
  keyName = '',
): Statement[] {
  const { agents, keys } = account.change
  return [
    ...agents.add(agent),
    keys.add({ ...keyRow(agent.id, key, account.actor), name: keyName }, agent.createdAt),
  ]
}

export function keyRow(agentId: string, { hash, last4 }: MintedKey, actor: Actor): NewKey {
  const issuedBy = actor.type === 'user' || actor.type === 'admin' ? actor.userId : null
  return { id: newId(), kind: 'agent_key', agentId, userId: null, issuedBy, name: '', hash, last4 }
}

/** Fails with `alias_taken` if the alias is taken. For a person, an alias that another person gave up is free. */
export async function refuseTakenAlias(
  account: AccountStore,
  alias: string,
  use?: { forPerson: boolean },
): Promise<void> {
  if (await account.read.directory.isAliasFree(alias, use)) return
  throw new GridError('alias_taken', `The alias @${alias} is taken. Choose another.`, { field: 'alias' })
}

/** Fails with `agent_limit_reached` if `added` more agents would exceed the account's limit. */
export async function refuseTooManyAgents(account: AccountStore, added = 1): Promise<void> {
  const { agents: max } = await limitsOf(account)
  const now = await account.read.agents.programs()
  if (max === 0 || now + added <= max) return
  throw new GridError(
    'agent_limit_reached',
    `The account has ${now.toLocaleString('en')} agents, and may have ${max.toLocaleString('en')}. Delete some first.`,
  )
}

/**
 * Fails the unit if the account has too many agents at commit time, because other agents may be created concurrently.
 */
export function requireAgentLimit({ change, deps }: AccountStore): Statement[] {
  return [change.agents.requireAtMost(deps.config.agentsPerAccount)]
}

/** Returns a description as stored, without invisible characters. Fails with `invalid_input`. */
export function checkDescription(text: string | undefined): string {
  const description = cleanDescription(text ?? '')
  if (description === undefined || !hasAtMost(description, maxDescriptionLength)) {
    throw invalidInput(`A description can have at most ${maxDescriptionLength} characters.`, 'description')
  }
  return description
}

/** Returns an access list as stored. It may contain aliases that no agent has. Fails with `invalid_input`. */
export function checkAccessList(policy: AccessPolicy, aliases: string[]): string[] {
  const list = [...new Set(aliases.map(normaliseAlias))]
  if (list.length > maxAccessList || !list.every((alias) => aliasPattern.test(alias))) {
    throw invalidInput(`accessList accepts at most ${maxAccessList} valid aliases.`, 'accessList')
  }
  if (list.length > 0 && policy === 'auto_approve') {
    throw invalidInput('accessList requires the accessPolicy allow_list or block_list.', 'accessList')
  }
  return list
}

/** Returns a remote agent's URL as stored; null for other agents. Fails if the URL is not an allowed target. */
export function checkRemoteUrl(config: Config, type: AgentType, remoteUrl: string | undefined): string | null {
  if (type !== 'a2a') {
    if (remoteUrl !== undefined) {
      throw invalidInput('Only an agent of type a2a has a remoteUrl.', 'remoteUrl')
    }
    return null
  }
  if (!remoteUrl) {
    throw invalidInput('An agent of type a2a needs a remoteUrl: the address of its A2A server.', 'remoteUrl')
  }
  return requireAllowedTarget(remoteUrl, config, 'remoteUrl')
}

/** Seals a token for the row of its agent, so that no other row can use it. */
export async function sealRemoteToken(
  account: AccountStore,
  agent: Agent,
  token: string | undefined,
): Promise<TokenColumns> {
  if (token === undefined) return noToken
  if (agent.type !== 'a2a') {
    throw invalidInput('Only an agent of type a2a has a remoteToken.', 'remoteToken')
  }
  return await account.seal('agents', agent.id, token)
}

/** Returns an error, so that an admin cannot send the stored token to another server. `field` is the token's field. */
export function tokenOfOtherServer(field: string): GridError {
  return invalidInput('The server address has changed: enter the token for the new server.', field)
}
