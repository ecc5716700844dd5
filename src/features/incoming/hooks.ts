/**
 * Incoming hooks: URLs to which external programs post messages. Owners and admins create and revoke them. See
 * docs/protocol/incoming.md.
 */
import { bareAlias, checkNewAlias, normaliseChannelName } from '../../aliases.ts'
import { requireAdmin, requireConfirmed } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { refuseTakenAlias, refuseTooManyAgents, requireAgentLimit } from '../../grid/agents/agents.ts'
import { endAgent } from '../../grid/agents/end-agent.ts'
import { findAgent } from '../../grid/agents/find-agent.ts'
import { maxMembers } from '../../grid/channels/channels.ts'
import { retryOnConflict } from '../../grid/retry-on-conflict.ts'
import { newId } from '../../lib/id.ts'
import { isWebhookSecret } from '../../lib/outbound/webhook-signature.ts'
import { mintLinkToken } from '../../lib/secrets.ts'
import { hasAtMost } from '../../lib/text.ts'
import type { AccountStore } from '../../store/account.ts'
import { noToken } from '../../store/account/agents.ts'
import { type HookDelivery, type HookFormat, type HookRow, incomingTables, maxHooks } from './store.ts'

export const incomingPath = '/in/:token'
export const maxTemplateLength = 2_000
const maxSecretLength = 200

export interface Hook extends Omit<HookRow, 'deliveries'> {
  deliveries: HookDelivery[]
}

export interface HookInput {
  /** The sender's alias. */
  name: string
  /** `@alias` or `#channel`. */
  to: string
  format: HookFormat
  /** Set only for the format `template`. */
  template?: string
  /** The secret with which requests must be signed, if any, in the scheme of GitHub or Standard Webhooks. */
  secret?: string
}

export async function listHooks(account: AccountStore): Promise<Hook[]> {
  requireAdmin(account.actor)
  return (await account.feature(incomingTables).read.list()).map(asHook)
}

export async function findHook(account: AccountStore, id: string): Promise<Hook> {
  requireAdmin(account.actor)
  const row = await account.feature(incomingTables).read.byId(id)
  if (!row) throw new GridError('not_found', 'There is no such hook.')
  return asHook(row)
}

function asHook(row: HookRow): Hook {
  return { ...row, deliveries: JSON.parse(row.deliveries) }
}

/**
 * Creates a hook, with an agent of type `hook` as its sender. Only this call returns the URL. Fails like `createAgent`,
 * or with `agent_not_found`, `channel_not_found`, `invalid_input` or `confirmation_required`.
 */
export async function createHook(account: AccountStore, input: HookInput): Promise<{ id: string; address: string }> {
  const { actor, change, deps } = account
  requireAdmin(actor)
  const alias = checkNewAlias(bareAlias(input.name), deps.config.reservedAliases)
  const { format } = input
  const template = format === 'template' ? input.template?.trim() ?? '' : ''
  if (format === 'template' && template === '') throw invalidInput('Write the template.', 'template')
  if (!hasAtMost(template, maxTemplateLength)) {
    throw invalidInput(`A template can have at most ${maxTemplateLength} characters.`, 'template')
  }
  const secret = checkSecret(input.secret?.trim() ?? '')
  await recipientOf(account, input.to)
  requireConfirmed(actor, deps.now())
  const [id, agentId] = [newId(), newId()]
  const { token, hash: tokenHash } = mintLinkToken()
  const sealed = secret === undefined ? noToken : await account.seal('incoming_hooks', id, secret)
  const made = { id, address: deps.config.baseUrl + incomingPath.replace(':token', token) }

  return await retryOnConflict(async () => {
    const { read, change: ofHooks } = account.feature(incomingTables)
    // If the response to an earlier attempt was lost, the hook already exists.
    if (await read.byId(id)) return made
    await refuseTakenAlias(account, alias)
    await refuseTooManyAgents(account)
    if (await read.count() >= maxHooks) throw invalidInput(`An account can have at most ${maxHooks} hooks.`, 'name')
    const { toAgentId, channelId } = await recipientOf(account, input.to)
    const at = deps.now()
    await account.write([
      ...change.agents.add({
        ...{ id: agentId, alias, type: 'hook', visibility: 'private', accessPolicy: 'auto_approve', createdAt: at },
        ...{ description: `Incoming hook for ${input.to.trim()}.`, remoteUrl: null, signupId: null },
        ...noToken,
      }),
      ...requireAgentLimit(account),
      ...toAgentId !== null ? [change.agents.requireLive([toAgentId])] : [],
      ...channelId !== null
        ? [
          change.channels.requireLive(channelId),
          change.channels.addMembers(channelId, [agentId], at),
          change.channels.requireAtMost(channelId, maxMembers),
        ]
        : [],
      ...ofHooks.add({ id, agentId, tokenHash, format, template, toAgentId, channelId, ...sealed }, at),
    ])
    return made
  })
}

/** Revokes a hook's URL immediately. Its messages are kept. */
export async function revokeHook(account: AccountStore, id: string): Promise<void> {
  requireAdmin(account.actor)
  await retryOnConflict(async () => {
    const { agentId, alias } = await findHook(account, id)
    await account.write([
      ...await endAgent(account, { id: agentId, alias }, account.deps.now()),
      account.feature(incomingTables).change.remove(id),
    ])
  })
}

async function recipientOf(account: AccountStore, to: string) {
  if (to.trim().startsWith('#')) {
    const channel = await account.read.channels.byName(normaliseChannelName(to), '')
    if (!channel) throw new GridError('channel_not_found', `Channel '${to.trim()}' not found`, { field: 'to' })
    return { toAgentId: null, channelId: channel.id }
  }
  const agent = await findAgent(account, to, 'to')
  if (agent.type === 'hook') throw invalidInput(`@${agent.alias} is a hook. It only sends.`, 'to')
  return { toAgentId: agent.id, channelId: null }
}

function checkSecret(secret: string): string | undefined {
  if (secret === '') return undefined
  if (!hasAtMost(secret, maxSecretLength) || (secret.startsWith('whsec_') && !isWebhookSecret(secret))) {
    throw invalidInput(
      `A secret can have at most ${maxSecretLength} characters; after whsec_ it is base64.`,
      'signingSecret',
    )
  }
  return secret
}
