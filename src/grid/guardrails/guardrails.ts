/** Guardrails: configured providers of an account, and the agents that they are attached to. */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { type Provider, RefusedConfig, serviceOf } from '../../guardrails/provider.ts'
import { providers } from '../../guardrails/providers.ts'
import { newId } from '../../lib/id.ts'
import { check } from '../../lib/input.ts'
import { isPlainName } from '../../lib/names.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import { NoTurn } from '../../lib/shared-thread.ts'
import type { AccountStore } from '../../store/account.ts'
import { type Agent, noToken } from '../../store/account/agents.ts'
import type {
  Guardrail,
  GuardrailAction,
  GuardrailAttachment,
  GuardrailDirection,
  OnFailure,
} from '../../store/account/guardrails.ts'
import { tokenOfOtherServer } from '../agents/agents.ts'
import { findAgent } from '../agents/find-agent.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { requireConsent } from './consents.ts'
import { findGuardrail } from './list-guardrails.ts'

export const maxAttached = 200
const maxNameLength = 64
const maxTargets = 100

export interface NewGuardrail {
  name: string
  provider: string
  config?: unknown
  /** Bearer token or signing secret for the provider; stored sealed, never returned. */
  token?: string
  action?: GuardrailAction
  /** What happens when the provider fails. Default: `closed` for `block`, otherwise `open`. */
  onFailure?: OnFailure
  enabled?: boolean
  attach?: GuardrailTargets
}

export async function createGuardrail(account: AccountStore, input: NewGuardrail): Promise<Guardrail> {
  requireAdmin(account.actor)
  const name = checkName(input.name)
  const provider = findProvider(input.provider)
  const enabled = input.enabled ?? true
  const config = await checkConfig(account, provider, input.config ?? {})
  checkToken(provider, input.token || undefined, enabled)
  const action = input.action ?? 'block'
  const guardrail: Guardrail = {
    id: newId(),
    name,
    provider: provider.id,
    config,
    action,
    onFailure: input.onFailure ?? (action === 'block' ? 'closed' : 'open'),
    enabled,
    host: serviceOf(provider, config)?.host ?? null,
    createdAt: account.deps.now(),
  }
  const token = input.token ? await account.seal('guardrails', guardrail.id, input.token) : noToken
  return await retryOnConflict(async () => {
    const named = await account.read.guardrails.byRef(name)
    // The guardrail exists if an earlier attempt succeeded and its response was lost.
    if (named?.id === guardrail.id) return guardrail
    if (named) throw guardrailTaken(name)
    await account.write([
      account.change.guardrails.add({ ...guardrail, ...token, config: JSON.stringify(guardrail.config) }),
      ...(input.attach ? await attaching(account, guardrail, input.attach) : []),
    ])
    return guardrail
  })
}

/** Changes to a guardrail. Undefined fields stay unchanged. Its provider cannot be changed. */
export interface GuardrailUpdate {
  name?: string
  config?: unknown
  enabled?: boolean
  action?: GuardrailAction
  onFailure?: OnFailure
  token?: string | null
}

/** Changes a guardrail (by id or name) for each agent it is attached to. A new server address requires a new token. */
export async function updateGuardrail(
  account: AccountStore,
  ref: string,
  { token, ...input }: GuardrailUpdate,
): Promise<Guardrail> {
  requireAdmin(account.actor)
  const name = input.name === undefined ? undefined : checkName(input.name)
  const { action, onFailure, enabled } = input
  return await retryOnConflict(async () => {
    const found = await findGuardrail(account, ref)
    const { hasToken, allAgents: _, failingSince: _since, failure: _failure, ...guardrail } = found
    const { id } = guardrail
    const provider = findProvider(guardrail.provider)
    const config = input.config === undefined ? undefined : await checkConfig(account, provider, input.config)
    checkToken(provider, token === undefined ? hasToken : token, enabled ?? guardrail.enabled)
    const service = config === undefined ? undefined : serviceOf(provider, config)
    const isOtherServer = token === undefined && service !== undefined &&
      service.origin !== serviceOf(provider, guardrail.config)?.origin
    if (isOtherServer && hasToken) throw tokenOfOtherServer('token')
    const named = name === undefined ? undefined : await account.read.guardrails.byRef(name)
    if (named && named.id !== id) throw guardrailTaken(input.name!.trim())
    const sealed = token ? await account.seal('guardrails', id, token) : noToken
    const json = config === undefined ? {} : { config: JSON.stringify(config), host: service?.host }
    const changed: Guardrail = {
      ...guardrail,
      name: name ?? guardrail.name,
      config: config ?? guardrail.config,
      action: action ?? guardrail.action,
      onFailure: onFailure ?? guardrail.onFailure,
      enabled: enabled ?? guardrail.enabled,
      host: service?.host ?? guardrail.host,
    }
    const { guardrails } = account.change
    account.changed(guardrail, changed)
    await account.write([
      guardrails.requireExists(id),
      ...(isOtherServer ? [guardrails.requireNoToken(id)] : []),
      guardrails.update(id, { name, ...json, action, onFailure, enabled }),
      ...(token === undefined ? [] : [guardrails.setToken(id, sealed)]),
      ...(provider.needsToken ? [guardrails.requireTokenIfOn(id)] : []),
    ])
    return changed
  })
}

/** Deletes a guardrail with its token and its exceptions. Its cases and counts stay. */
export async function deleteGuardrail(account: AccountStore, ref: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const { id } = await findGuardrail(account, ref)
    const { guardrails, verdicts: { disallowAll } } = account.change
    await account.write([guardrails.requireExists(id), guardrails.detach(id), disallowAll(id), guardrails.remove(id)])
    return { id }
  })
}

export function findProvider(id: string): Provider {
  const provider = providers.find((provider) => provider.id === id)
  if (provider) return provider
  const known = providers.map(({ id }) => id).join(', ')
  throw invalidInput(`There is no such provider. Known providers: ${known}.`, 'provider')
}

function checkName(text: string): string {
  const name = wellFormed(text)?.trim()
  if (!name || !hasAtMost(name, maxNameLength)) {
    throw invalidInput(`A guardrail name must have 1 to ${maxNameLength} characters.`, 'name')
  }
  if (!isPlainName(name)) {
    throw invalidInput('A guardrail name must not contain control or invisible characters.', 'name')
  }
  return name
}

/** Checks that the token fits the provider. `token` is the new token, or whether one is stored. */
export function checkToken(provider: Provider, token: string | boolean | null | undefined, enabled: boolean): void {
  if (token && !provider.needsToken) throw invalidInput(`The provider ${provider.id} takes no token.`, 'token')
  if (!token && provider.needsToken && enabled) {
    throw invalidInput(`The provider ${provider.id} needs a token while the guardrail is enabled.`, 'token')
  }
  if (typeof token !== 'string') return
  try {
    provider.checkToken?.(token)
  } catch (error) {
    if (error instanceof RefusedConfig) throw invalidInput(error.message, error.field)
    throw error
  }
}

/** Returns the configuration with its defaults. Fails with `invalid_input` or `unavailable`. */
export async function checkConfig(account: AccountStore, provider: Provider, config: unknown): Promise<unknown> {
  const checked = check(provider.config, config, {
    error: ({ input }) => input === undefined ? 'is required' : undefined,
  })
  if (!checked.success) {
    const { path, message } = checked.error.issues[0]
    throw refusedField(path.map(String).join('.'), message)
  }
  try {
    await account.deps.guardrailChecks.requirePreparable(account.owner, provider, checked.data)
  } catch (error) {
    if (error instanceof RefusedConfig) throw refusedField(error.field, error.message)
    throw error instanceof NoTurn ? noTurn() : error
  }
  return checked.data
}

/** Creates the error for a call when local guardrails are too busy. */
export function noTurn(): GridError {
  return new GridError('unavailable', 'Too many guardrails are being checked. Repeat the call.', {
    retryAfterSeconds: 5,
    notExecuted: true,
  })
}

function refusedField(path: string, message: string): GridError {
  const field = path === '' ? 'config' : `config.${path}`
  return invalidInput(`${field}: ${message}`, field)
}

function guardrailTaken(name: string): GridError {
  return new GridError('guardrail_taken', `The account has a guardrail ${name}. Choose another name.`, {
    field: 'name',
  })
}

/** The agents (ids or aliases) to attach a guardrail to, or all, including future ones. */
export interface GuardrailTargets {
  direction: GuardrailDirection
  agents: 'all' | string[]
}

/**
 * Attaches a guardrail (by id or name) to more agents. `all` leaves out people who have not allowed the guardrail's
 * service. Fails with `agent_not_found`, and with `consent_required` for a person who was named.
 */
export async function attachGuardrail(account: AccountStore, ref: string, to: GuardrailTargets): Promise<Guardrail> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const guardrail = await findGuardrail(account, ref)
    const { requireExists } = account.change.guardrails
    await account.write([requireExists(guardrail.id), ...await attaching(account, guardrail, to)])
    return guardrail
  })
}

async function attaching(account: AccountStore, guardrail: Guardrail, to: GuardrailTargets) {
  const { guardrails, agents } = account.change
  const { id } = guardrail
  if (to.agents === 'all') {
    return [guardrails.setAllAgents(id, to.direction), guardrails.attachTo(id, to.direction, null)]
  }
  if (to.agents.length === 0) throw invalidInput('Choose at least one agent.', 'agents')
  if (to.agents.length > maxTargets) throw invalidInput(`Choose at most ${maxTargets} agents at a time.`, 'agents')
  const ids: string[] = []
  for (const ref of to.agents) {
    const agent = await findAgent(account, ref)
    if (agent.type === 'human') await requireConsent(account, agent, [guardrail])
    ids.push(agent.id)
  }
  return [
    agents.requireLive([...new Set(ids)]),
    guardrails.setAllAgents(id, null),
    guardrails.attachTo(id, to.direction, ids),
  ]
}

export interface AgentGuardrailInput {
  ref: string
  direction?: GuardrailDirection
  action?: GuardrailAction
}

type AgentGuardrail = Pick<Guardrail, 'id' | 'name' | 'provider' | 'action'> & { direction: GuardrailDirection }

/**
 * Replaces the guardrails of an agent (id or alias), all or nothing. Fails with `consent_required` for a guardrail that
 * would send the messages of a person to a service without their consent.
 */
export async function setAgentGuardrails(
  account: AccountStore,
  input: { agent: string; guardrails: AgentGuardrailInput[] },
): Promise<{ agent: Agent; guardrails: AgentGuardrail[] }> {
  requireAdmin(account.actor)
  if (input.guardrails.length > maxAttached) {
    throw invalidInput(`At most ${maxAttached} guardrails are allowed.`, 'guardrails')
  }
  return await retryOnConflict(async () => {
    const agent = await findAgent(account, input.agent)
    const chosen: { guardrail: Guardrail; attachment: GuardrailAttachment }[] = []
    for (const { ref, direction = 'both', action = null } of input.guardrails) {
      const guardrail = await account.read.guardrails.byRef(ref.trim())
      const field = 'guardrails'
      if (!guardrail) throw new GridError('guardrail_not_found', `Guardrail '${ref}' not found`, { field })
      if (chosen.some((one) => one.guardrail.id === guardrail.id)) {
        const rule = 'It can be attached once per agent, with one direction and one action.'
        throw invalidInput(`Guardrail '${ref}' is listed twice. ${rule}`, field)
      }
      const acting = { ...guardrail, action: action ?? guardrail.action }
      chosen.push({ guardrail: acting, attachment: { guardrailId: guardrail.id, direction, action } })
    }
    if (agent.type === 'human') await requireConsent(account, agent, chosen.map(({ guardrail }) => guardrail))
    const { agents, guardrails } = account.change
    await account.write([
      agents.requireLive([agent.id]),
      guardrails.detachAll(agent.id),
      ...chosen.map(({ attachment }) => guardrails.attach(agent.id, attachment)),
    ])
    const attached = chosen.map(({ guardrail: { id, name, provider, action }, attachment: { direction } }) => {
      return { id, name, provider, direction, action }
    })
    return { agent, guardrails: attached }
  })
}
