/**
 * Consents of people for the messages of their alias: guardrails may send them to a service, others may decide on them.
 * See docs/people.md,
 * "People who write".
 */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import { approvalConsent } from '../../store/account/approval-rules.ts'
import { eventsProvider, type Guardrail, type TextService } from '../../store/account/guardrails.ts'
import { authorize } from '../authorize.ts'
import { callingPersonAlias } from '../people/person-aliases.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { guardrailNotFound } from './list-guardrails.ts'

export { approvalConsent, eventsProvider }

/** Returns the services that get, or could get, a person's messages; `allowedAt` is null without consent. */
export async function servicesFor(
  account: AccountStore,
  agentId: string,
): Promise<(TextService & { allowedAt: number | null })[]> {
  const [known, ...ofFeatures] = await Promise.all([
    account.read.guardrails.servicesFor(agentId),
    ...account.hooks.map(({ services }) => services?.(account) ?? []),
  ])
  const others = ofFeatures.flat().filter((service) => !known.some((one) => isSame(one, service)))
  const sortKey = ({ provider, host }: TextService) => `${provider} ${host}`
  return [...known, ...others.map((service) => ({ ...service, allowedAt: null }))]
    .sort((a, b) => sortKey(a) < sortKey(b) ? -1 : 1)
}

/**
 * Lets guardrails of this provider send the messages of the calling user's alias to this host. Fails with
 * `guardrail_not_found` if the account has no such guardrail, or with `alias_required`.
 */
export async function allowService(account: AccountStore, { provider, host }: TextService): Promise<TextService> {
  const { userId } = callingUser(account.actor)
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'use')
    const { agentId } = await callingPersonAlias(account)
    const services = await servicesFor(account, agentId)
    if (!services.some((service) => isSame(service, { provider, host }))) throw guardrailNotFound()
    const { guardrails, personAliases } = account.change
    await account.write([
      ...precondition,
      personAliases.requirePersonAlias(userId, agentId),
      ...guardrails.consent(agentId, { provider, host }, account.deps.now()),
    ])
    return { provider, host }
  })
}

/** Ends a consent: the provider's guardrails with this host no longer act on the alias. Fails with `alias_required`. */
export async function disallowService(account: AccountStore, { provider, host }: TextService): Promise<TextService> {
  const { agentId } = await callingPersonAlias(account)
  await account.write([account.change.guardrails.endConsent(agentId, { provider, host })])
  return { provider, host }
}

/**
 * Fails with `consent_required` if one of the guardrails, with its action for this person, would send texts to a
 * service or let others decide on them without the person's consent.
 */
export async function requireConsent(
  account: AccountStore,
  { id, alias }: Agent,
  guardrails: readonly Guardrail[],
): Promise<void> {
  const services = await account.read.guardrails.servicesFor(id)
  const allowed = services.filter(({ allowedAt }) => allowedAt !== null)
  const isAllowed = (service: TextService) => allowed.some((one) => isSame(one, service))
  for (const { name, provider, host, action } of guardrails) {
    const sends = host !== null && !isAllowed({ provider, host })
    if (!sends && (action !== 'hold' || isAllowed(approvalConsent))) continue
    const person = await account.read.personAliases.holder(id)
    const who = person?.name ? `${person.name} (@${alias})` : `@${alias}`
    const does = sends ? `sends messages to ${host}` : 'has owners and admins decide about messages'
    throw new GridError(
      'consent_required',
      `The guardrail '${name}' ${does}, and ${who} has not allowed that for theirs. Only they can, under Settings, Profile.`,
      { field: 'guardrails' },
    )
  }
}

function isSame(a: TextService, b: TextService): boolean {
  return a.provider === b.provider && a.host === b.host
}
