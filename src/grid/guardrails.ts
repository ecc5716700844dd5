/** Guardrails: an account's configured providers, and which agents they guard. */
import { requireAdmin } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import { providers } from '../guardrails/providers.ts'
import { newId } from '../lib/id.ts'
import { wellFormed } from '../lib/text.ts'
import type { AccountStore } from '../store/account.ts'
import { noToken } from '../store/account/agents.ts'
import type {
  Attachment,
  Guardrail,
  GuardrailAction,
  GuardrailDirection,
  OnFailure,
} from '../store/account/guardrails.ts'
import type { Agent } from '../store/account/agents.ts'
import { againOnConflict } from './conflict.ts'
import { findAgent } from './find-agent.ts'

/** Most guardrails of one agent. */
export const maxAttached = 200
const maxNameLength = 64

export interface NewGuardrail {
  name: string
  provider: string
  config?: unknown
  /** Bearer token or signing secret of the provider; stored sealed, never answered. */
  token?: string
  /** Default: `block`. */
  action?: GuardrailAction
  /** What happens when the provider fails. Default: `closed` for `block`, otherwise `open`. */
  onFailure?: OnFailure
}

/**
 * Configure a provider for the account.
 * Fails with `wrong_credential`, `invalid_input` or `guardrail_taken`. Spec: "Guardrail".
 */
export async function createGuardrail(account: AccountStore, input: NewGuardrail): Promise<Guardrail> {
  requireAdmin(account.actor)
  const name = wellFormed(input.name)?.trim()
  if (!name || name.length > maxNameLength) {
    throw new GridError('invalid_input', `A guardrail name has 1 to ${maxNameLength} characters.`, { field: 'name' })
  }
  const provider = providers.find(({ id }) => id === input.provider)
  if (!provider) {
    const known = providers.map(({ id }) => id).join(', ')
    throw new GridError('invalid_input', `There is no such provider. Known are: ${known}.`, { field: 'provider' })
  }
  if (provider.needsToken !== Boolean(input.token)) {
    const rule = provider.needsToken ? 'needs a token' : 'takes no token'
    throw new GridError('invalid_input', `The provider ${provider.id} ${rule}.`, { field: 'token' })
  }
  const checked = provider.config.safeParse(input.config ?? {})
  if (!checked.success) {
    const { path, message } = checked.error.issues[0]
    throw new GridError('invalid_input', `config${path.map((part) => `.${String(part)}`).join('')}: ${message}`, {
      field: 'config',
    })
  }

  const action = input.action ?? 'block'
  const guardrail: Guardrail = {
    id: newId(),
    name,
    provider: provider.id,
    config: checked.data,
    action,
    onFailure: input.onFailure ?? (action === 'block' ? 'closed' : 'open'),
    enabled: true,
    createdAt: account.deps.now(),
  }
  const token = input.token ? await account.seal('guardrails', guardrail.id, input.token) : noToken
  return await againOnConflict(async () => {
    const named = await account.read.guardrails.byRef(name)
    // Repeated after a lost answer, the write met its own guardrail: then it is done.
    if (named?.id === guardrail.id) return guardrail
    if (named) {
      throw new GridError('guardrail_taken', `The account has a guardrail ${name}. Choose another name.`, {
        field: 'name',
      })
    }
    await account.write([
      account.change.guardrails.add({ ...guardrail, ...token, config: JSON.stringify(guardrail.config) }),
    ])
    return guardrail
  })
}

/** One entry of `setAgentGuardrails`: an id or a name. */
export interface GuardrailChoice {
  ref: string
  /** Default: `both`. */
  direction?: GuardrailDirection
  /** Overrides the guardrail's own action for this agent. */
  action?: GuardrailAction
}

/** A guardrail of an agent, with what is in force for it. */
export interface AgentGuardrail {
  id: string
  name: string
  provider: string
  direction: GuardrailDirection
  action: GuardrailAction
}

/**
 * Replace the guardrails of an agent (id or alias): all or nothing.
 * Fails with `wrong_credential`, `agent_not_found`, `guardrail_not_found` or `invalid_input`.
 */
export async function setAgentGuardrails(
  account: AccountStore,
  input: { agent: string; guardrails: GuardrailChoice[] },
): Promise<{ agent: Agent; guardrails: AgentGuardrail[] }> {
  requireAdmin(account.actor)
  if (input.guardrails.length > maxAttached) {
    throw new GridError('invalid_input', `At most ${maxAttached} guardrails are allowed.`, { field: 'guardrails' })
  }
  return await againOnConflict(async () => {
    const agent = await findAgent(account, input.agent)
    const chosen = new Map<string, { guardrail: Guardrail; attachment: Attachment }>()
    for (const { ref, direction = 'both', action = null } of input.guardrails) {
      const guardrail = await account.read.guardrails.byRef(ref.trim())
      if (!guardrail) {
        throw new GridError('guardrail_not_found', `Guardrail '${ref}' not found`, { field: 'guardrails' })
      }
      if (chosen.has(guardrail.id)) {
        throw new GridError(
          'invalid_input',
          `Guardrail '${ref}' is named twice. It has one direction and one action for an agent.`,
          { field: 'guardrails' },
        )
      }
      chosen.set(guardrail.id, { guardrail, attachment: { guardrailId: guardrail.id, direction, action } })
    }
    const { agents, guardrails } = account.change
    await account.write([
      agents.requireLive([agent.id]),
      guardrails.detachAll(agent.id),
      ...[...chosen.values()].map(({ attachment }) => guardrails.attach(agent.id, attachment)),
    ])
    const attached = [...chosen.values()].map(({ guardrail: { id, name, provider, action }, attachment }) => ({
      id,
      name,
      provider,
      direction: attachment.direction,
      action: attachment.action ?? action,
    }))
    return { agent, guardrails: attached }
  })
}
