/** Changes to an existing agent: its settings and its keys. */
import { type AgentActor, callingAgent, requireAdmin } from '../../auth/actor.ts'
import { type ErrorCode, GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { mintKey } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import {
  type AccessPolicy,
  type Agent,
  type CallersWait,
  noToken,
  type Visibility,
} from '../../store/account/agents.ts'
import type { Statement } from '../../store/sql.ts'
import { checkName } from '../check-name.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import {
  checkAccessList,
  checkDescription,
  checkRemoteUrl,
  createAgent,
  keyRow,
  sealRemoteToken,
  tokenOfOtherServer,
} from './agents.ts'
import { findProgram } from './find-agent.ts'

/** Omitted fields stay unchanged. Alias and type cannot be changed. */
export interface AgentUpdate {
  agent: string
  visibility?: Visibility
  /** `auto_approve` clears the access list. */
  accessPolicy?: AccessPolicy
  accessList?: string[]
  description?: string
  remoteUrl?: string
  /** Null removes the stored token. */
  remoteToken?: string | null
  /** Whether the agent's plain replies over A2A are messages. See docs/protocol/a2a.md, "Message replies". */
  messageReplies?: boolean
  /** Whether calls over A2A wait for the agent's answer. See docs/protocol/a2a.md, "Confirmation or task". */
  callersWait?: CallersWait
}

/** Changes the settings of an agent. A `remoteUrl` of another origin requires a new token, or none. */
export async function updateAgent(account: AccountStore, input: AgentUpdate): Promise<{ agent: Agent }> {
  requireAdmin(account.actor)
  const { remoteToken, messageReplies, callersWait } = input
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
    const { agents, agentSettings } = account.change
    account.changed(before, agent)
    await account.write([
      agents.requireLive([agent.id]),
      ...(isOtherServer ? [agentSettings.requireNoToken(agent.id)] : []),
      ...agentSettings.update(agent.id, { ...agent, messageReplies, callersWait }),
      ...(accessList === undefined ? [] : [
        // An access list starts empty when the policy changes.
        agentSettings.keepAccess(agent.id, agent.accessPolicy === before.accessPolicy ? accessList : []),
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

/** An agent of the account, by id or alias, and an alias on its access list. */
interface AccessInput {
  agent: string
  partner: string
}

/**
 * Confirms a pending alias on an access list, which admits its agent. Fails with `agent_not_found` or `invalid_input`.
 */
export async function confirmAccess(account: AccountStore, input: AccessInput): Promise<void> {
  requireAdmin(account.actor)
  const { id, alias } = await findProgram(account, input.agent)
  const [confirmed] = await account.write([account.change.agentSettings.confirmAccess(id, input.partner)])
  if (confirmed.length > 0) return
  throw invalidInput(`@${input.partner} is no longer on the access list of @${alias}, or no agent has it.`, 'partner')
}

/** Removes an alias from an access list, if it is listed. Fails with `agent_not_found`. */
export async function removeAccess(account: AccountStore, input: AccessInput): Promise<void> {
  requireAdmin(account.actor)
  const { id } = await findProgram(account, input.agent)
  await account.write([account.change.agentSettings.removeAccess(id, input.partner)])
}

function originOf({ remoteUrl }: Agent): string | undefined {
  return remoteUrl === null ? undefined : new URL(remoteUrl).origin
}

/** Maximum live keys of one agent. Each client and machine has its own key. */
export const maxKeys = 50

interface NamedKey {
  name: string
  last4: string
}

/** Replaces all keys of an agent (id or alias) with a new one, which is returned only here. */
export async function reissueKey(account: AccountStore, ref: string): Promise<{ agent: Agent; apiKey: string }> {
  requireAdmin(account.actor)
  const key = mintKey('agent_key')
  const keyId = newId()
  return await retryOnConflict(async () => {
    const agent = await findProgram(account, ref)
    const { agents, keys } = account.change
    const at = account.deps.now()
    await account.write([
      agents.requireLive([agent.id]),
      keys.add({ ...keyRow(agent.id, key, account.actor), id: keyId }, at),
      // Excludes the new key, because a retry after a lost response runs the unit again.
      keys.revokeOthersOfAgent(agent.id, keyId, at),
    ])
    return { agent, apiKey: key.key }
  })
}

/** Adds a named key to an agent (id or alias). The key is returned only here. */
export async function addKey(
  account: AccountStore,
  input: { agent: string; name: string },
): Promise<{ agent: Agent; apiKey: string }> {
  requireAdmin(account.actor)
  const name = checkName(input.name, 'name')
  const key = mintKey('agent_key')
  const keyId = newId()
  return await retryOnConflict(async () => {
    const agent = await findProgram(account, input.agent)
    const { agents, keys } = account.change
    const at = account.deps.now()
    await writeKey(account, agent.id, [
      agents.requireLive([agent.id]),
      keys.add({ ...keyRow(agent.id, key, account.actor), id: keyId, name }, at),
      keys.requireAtMostOfAgent(agent.id, maxKeys, at),
    ])
    return { agent, apiKey: key.key }
  })
}

/**
 * Like `addKey`, but creates the agent if the account has none with this alias. Fails with `alias_taken` if the alias
 * belongs to another account or to a deleted agent.
 */
export async function addKeyOrAgent(
  account: AccountStore,
  { agent: alias, name }: { agent: string; name: string },
): Promise<{ agent: Agent; apiKey: string; isNew: boolean }> {
  const add = async () => ({ ...await addKey(account, { agent: alias, name }), isNew: false })
  try {
    return await add()
  } catch (error) {
    if (!hasCode(error, 'agent_not_found')) throw error
  }
  try {
    const { agent, apiKey } = await createAgent(account, { alias, keyName: name })
    return { agent, apiKey, isNew: true }
  } catch (error) {
    if (!hasCode(error, 'alias_taken')) throw error
    // A concurrent call may have created the agent.
    return await add().catch(() => {
      throw error
    })
  }
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof GridError && error.code === code
}

export async function revokeKey(account: AccountStore, input: { agent: string; key: string }): Promise<NamedKey> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => endKey(account, (await findProgram(account, input.agent)).id, input.key))
}

/** Revokes the key that the calling agent uses. */
export async function revokeOwnKey(account: AccountStore): Promise<NamedKey> {
  const { agentId, credentialId } = callerWithKey(account)
  return await retryOnConflict(() => endKey(account, agentId, credentialId))
}

/** Returns the calling agent and its key. Fails with `wrong_credential`, including for an OAuth token. */
export async function describeCaller(account: AccountStore): Promise<{
  alias: string
  account: string
  key: NamedKey
}> {
  const { agentId, alias, credentialId } = callerWithKey(account)
  const [key, name] = await Promise.all([
    account.read.keys.oneOfAgent(agentId, credentialId),
    account.read.profile.accountName(),
  ])
  if (!key) throw keyNotFound()
  return { alias, account: name, key: { name: key.name, last4: key.last4 } }
}

/**
 * Creates a key for the calling agent, which has an OAuth token. The key ends with the grant. It replaces the key of
 * this name that the client fetched earlier for this user. Fails with `wrong_credential`, `invalid_input` or
 * `key_limit_reached`. See docs/protocol/rest.md, "Static key of an agent".
 */
export async function fetchAgentKey(
  account: AccountStore,
  input: { name?: string } = {},
): Promise<{ agentId: string; alias: string; apiKey: string; name: string }> {
  const { agentId, alias, credentialId: grantId, userId } = callingAgent(account.actor)
  if (userId === undefined) {
    throw new GridError('wrong_credential', 'Only a caller with an OAuth access token can fetch a key.')
  }
  const given = input.name === undefined ? undefined : checkName(input.name, 'name')
  const key = mintKey('agent_key')
  const name = given ?? (await account.read.grants.live(grantId))?.clientName ?? ''
  const row = { ...keyRow(agentId, key, account.actor), userId, grantId, name }
  const { agents, grants, keys } = account.change
  const at = account.deps.now()
  await writeKey(account, agentId, [
    grants.requireLive(grantId),
    agents.requireLive([agentId]),
    keys.add(row, at),
    keys.revokeOfClient(agentId, grantId, name, row.id, at),
    keys.requireAtMostOfAgent(agentId, maxKeys, at),
  ])
  return { agentId, alias, apiKey: key.key, name }
}

async function writeKey(account: AccountStore, agentId: string, statements: Statement[]): Promise<void> {
  try {
    await account.write(statements)
  } catch (error) {
    const isConflict = error instanceof GridError && error.code === 'write_conflict'
    if (!isConflict || (await account.read.keys.ofAgent(agentId, account.deps.now())).length < maxKeys) throw error
    throw new GridError('key_limit_reached', `The agent has ${maxKeys} keys. Revoke one that is no longer used.`)
  }
}

async function endKey(account: AccountStore, agentId: string, id: string): Promise<NamedKey> {
  const { keys } = account.change
  const key = await account.read.keys.oneOfAgent(agentId, id)
  if (!key) throw keyNotFound()
  await account.write([
    keys.requireLiveOfAgent(agentId, id),
    keys.revokeOneOfAgent(agentId, id, account.deps.now()),
  ])
  return { name: key.name, last4: key.last4 }
}

function callerWithKey({ actor }: AccountStore): AgentActor {
  const caller = callingAgent(actor)
  if (caller.userId === undefined) return caller
  throw new GridError('wrong_credential', 'This is for agent keys. An OAuth token is revoked at /oauth/revoke.')
}

function keyNotFound(): GridError {
  return new GridError('credential_not_found', 'The agent has no such key, or it was revoked.')
}
