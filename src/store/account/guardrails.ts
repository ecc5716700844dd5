import type { agentGuardrails, guardrails as table } from '../../../db/schema.ts'
import {
  type AccountDb,
  boolean,
  insertedToken,
  json,
  matchesSearchText,
  precondition,
  query,
  sealedColumns,
  statement,
  updatedToken,
} from '../sql.ts'
import type { TokenColumns } from './agents.ts'
import { approvalConsent } from './approval-rules.ts'

export type GuardrailAction = typeof table.$inferSelect.action
export type GuardrailDirection = typeof agentGuardrails.$inferSelect.direction
export type OnFailure = typeof table.$inferSelect.onFailure

export interface Guardrail {
  id: string
  name: string
  provider: string
  config: unknown
  action: GuardrailAction
  onFailure: OnFailure
  enabled: boolean
  /** The service that receives the texts; null for a local provider. */
  host: string | null
  createdAt: number
}

export interface FoundGuardrail extends Guardrail {
  hasToken: boolean
  /** The direction in which it is attached to new agents. Null: it is not attached to them. */
  allAgents: GuardrailDirection | null
  /** Since when all checks have failed, and the last reason. Null while the checks succeed. */
  failingSince: number | null
  failure: string | null
}

type GuardrailChanges = Partial<Pick<Guardrail, 'name' | 'action' | 'onFailure' | 'enabled' | 'host'>> & {
  config?: string
}

/** A service that receives texts from a provider's guardrails, and needs a person's consent for their alias. */
export interface TextService {
  provider: string
  host: string
}

/** The provider name of a person's consent that servers on a host get the person's texts in the account's events. */
export const eventsProvider = 'events'

/** A guardrail attached to an agent. `action`, if set, overrides the guardrail's own. */
export interface GuardrailAttachment {
  guardrailId: string
  direction: GuardrailDirection
  action: GuardrailAction | null
}

const columns = `guardrails.id, guardrails.name, guardrails.provider, guardrails.config, guardrails.action,
  guardrails.on_failure, guardrails.enabled, guardrails.host, guardrails.created_at`
const decoders = { config: json, enabled: boolean }
const joinLiveAgents = `JOIN agents ON agents.account_id = agent_guardrails.account_id
  AND agents.id = agent_guardrails.agent_id AND agents.deleted_at IS NULL`
// A subquery, so that agents are counted only for the page's rows.
const agentCount = `(SELECT count(*) FROM agent_guardrails ${joinLiveAgents}
  WHERE agent_guardrails.account_id = guardrails.account_id
    AND agent_guardrails.guardrail_id = guardrails.id) AS agent_count`
const listOf = (rest: string) =>
  query<Guardrail & { agentCount: number }>(
    `SELECT ${columns}, ${agentCount} FROM guardrails WHERE guardrails.account_id = :account ${rest}`,
    decoders,
  )
const byName = 'ORDER BY guardrails.name COLLATE NOCASE, guardrails.name'
const list = listOf(byName)
const page = listOf('AND guardrails.name > :after ORDER BY guardrails.name LIMIT :limit')
const isFound = matchesSearchText(['guardrails.name', 'guardrails.provider'])
const searchQuery = listOf(`AND ${isFound} ${byName} LIMIT :limit OFFSET :offset`)
const searchTotal = query<{ n: number }>(`
  SELECT count(*) AS n FROM guardrails WHERE guardrails.account_id = :account AND ${isFound}`)
const found = (rest: string) =>
  query<FoundGuardrail>(
    `SELECT ${columns}, guardrails.encrypted_token IS NOT NULL AS has_token,
      guardrails.all_agents, guardrails.failing_since, guardrails.failure FROM guardrails
    WHERE guardrails.account_id = :account AND ${rest}`,
    { ...decoders, hasToken: boolean },
  )
// One guardrail's name may be another's id; the id takes precedence.
const byRef = found('(guardrails.id = :ref OR guardrails.name = :ref) ORDER BY guardrails.id = :ref DESC LIMIT 1')
const byId = found('guardrails.id = :id')
const ofAgent = query<GuardrailAttachment>(`
  SELECT guardrail_id, direction, action FROM agent_guardrails WHERE account_id = :account AND agent_id = :agent`)
const sealedToken = query<TokenColumns>(`
  SELECT ${sealedColumns} FROM guardrails
  WHERE account_id = :account AND id = :id`)
const fromAgents = `FROM agent_guardrails ${joinLiveAgents}
  WHERE agent_guardrails.account_id = :account AND agent_guardrails.guardrail_id = :id`
const agentsOf = query<
  Pick<GuardrailAttachment, 'direction' | 'action'> & { id: string; alias: string; description: string }
>(`
  SELECT agents.id, agents.alias, agents.description, agent_guardrails.direction, agent_guardrails.action
  ${fromAgents} ORDER BY agents.alias LIMIT :limit OFFSET :offset`)
const agentsOfTotal = query<{ n: number }>(`SELECT count(*) AS n ${fromAgents}`)
// Services of the account's guardrails, the members who decide (as a service), and services that the person allowed.
const servicesFor = query<TextService & { allowedAt: number | null }>(`
  SELECT provider, host, max(allowed_at) AS allowed_at FROM (
    SELECT provider, host, NULL AS allowed_at FROM guardrails WHERE account_id = :account AND host IS NOT NULL
    UNION ALL SELECT '${approvalConsent.provider}', '${approvalConsent.host}', NULL
    UNION ALL
    SELECT provider, host, created_at FROM guardrail_consents WHERE account_id = :account AND agent_id = :agent)
  GROUP BY provider, host ORDER BY provider, host`)

const isGuardrail = 'account_id = :account AND id = :id'
const update = statement(`
  UPDATE guardrails SET name = coalesce(:name, name), config = coalesce(:config, config),
    action = coalesce(:action, action), on_failure = coalesce(:onFailure, on_failure),
    enabled = coalesce(:enabled, enabled), host = coalesce(:host, host)
  WHERE ${isGuardrail}`)
const setToken = statement(`
  UPDATE guardrails SET ${updatedToken}
  WHERE ${isGuardrail}`)
const recover = statement(`UPDATE guardrails SET failing_since = NULL, failure = NULL WHERE ${isGuardrail}`)
const detach = statement(`DELETE FROM agent_guardrails WHERE account_id = :account AND guardrail_id = :id`)
const remove = statement(`DELETE FROM guardrails WHERE ${isGuardrail}`)
const requireMatching = (condition = '1') =>
  precondition(`EXISTS (SELECT 1 FROM guardrails WHERE ${isGuardrail} AND ${condition})`)
const requireExists = requireMatching()
const requireTokenIfOn = requireMatching('(encrypted_token IS NOT NULL OR NOT enabled)')
const requireNoToken = requireMatching('encrypted_token IS NULL')

const add = statement(`
  INSERT INTO guardrails (account_id, id, name, provider, config, action, on_failure, enabled, host,
    ${sealedColumns}, created_at)
  VALUES (:account, :id, :name, :provider, :config, :action, :onFailure, :enabled, :host,
    ${insertedToken}, :createdAt)`)
const detachAll = statement(`DELETE FROM agent_guardrails WHERE account_id = :account AND agent_id = :agent`)
const attach = statement(`
  INSERT INTO agent_guardrails (account_id, agent_id, guardrail_id, direction, action)
  VALUES (:account, :agent, :guardrailId, :direction, :action)`)

const setAllAgents = statement(`UPDATE guardrails SET all_agents = :direction WHERE ${isGuardrail}`)
// `:agents` are ids as JSON, or null for every live agent. `addAgent` attaches the guardrail to agents created later.
const attachTo = statement(`
  INSERT INTO agent_guardrails (account_id, agent_id, guardrail_id, direction)
  SELECT agents.account_id, agents.id, guardrails.id, :direction FROM guardrails
  CROSS JOIN agents ON agents.account_id = guardrails.account_id AND agents.deleted_at IS NULL
  WHERE guardrails.account_id = :account AND guardrails.id = :id
    AND (:agents IS NULL OR agents.id IN (SELECT value FROM json_each(:agents)))
    AND (guardrails.host IS NULL OR agents.type <> 'human' OR EXISTS (SELECT 1 FROM guardrail_consents
      WHERE guardrail_consents.account_id = agents.account_id AND guardrail_consents.agent_id = agents.id
        AND guardrail_consents.provider = guardrails.provider AND guardrail_consents.host = guardrails.host))
  ON CONFLICT (account_id, agent_id, guardrail_id) DO UPDATE SET direction = excluded.direction`)

const ofPerson = 'account_id = :account AND agent_id = :agent AND provider = :provider AND host = :host'
const consent = statement(`
  INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at)
  VALUES (:account, :agent, :provider, :host, :at) ON CONFLICT DO NOTHING`)
// Does nothing if there is an earlier consent, because the person may have detached the guardrails since then.
const attachWithConsent = statement(`
  INSERT INTO agent_guardrails (account_id, agent_id, guardrail_id, direction)
  SELECT account_id, :agent, id, all_agents FROM guardrails
  WHERE account_id = :account AND all_agents IS NOT NULL AND provider = :provider AND host = :host
    AND NOT EXISTS (SELECT 1 FROM guardrail_consents WHERE guardrail_consents.account_id = :account
      AND guardrail_consents.agent_id = :agent AND guardrail_consents.provider = :provider
      AND guardrail_consents.host = :host)
  ON CONFLICT DO NOTHING`)
const endConsent = statement(`DELETE FROM guardrail_consents WHERE ${ofPerson}`)

export const guardrails = {
  reads: (account: AccountDb) => ({
    list: () => account.all(list),
    page: (after: string, limit: number) => account.all(page, { after, limit }),
    byRef: (ref: string) => account.one(byRef, { ref }),
    byId: (id: string) => account.one(byId, { id }),
    /** The stored token, for `AccountStore.open`; null in each column if there is none. */
    sealedToken: (id: string): Promise<TokenColumns | undefined> => account.one(sealedToken, { id }),
    /** Guardrails whose name or provider id contains `search`, by name, each with its number of live agents. */
    search: (search: string, limit: number, offset: number) => account.all(searchQuery, { search, limit, offset }),
    searchTotal: async (search: string) => (await account.one(searchTotal, { search }))!.n,
    agentsOf: (id: string, limit: number, offset: number) => account.all(agentsOf, { id, limit, offset }),
    agentsOfTotal: async (id: string) => (await account.one(agentsOfTotal, { id }))!.n,
    ofAgent: (agent: string): Promise<GuardrailAttachment[]> => account.all(ofAgent, { agent }),
    /** Services by provider. `allowedAt` is null if the person with this agent as alias has not consented. */
    servicesFor: (agent: string) => account.all(servicesFor, { agent }),
  }),
  changes: (account: AccountDb) => ({
    /** `config` is JSON text. Fails with a constraint error if the account has a guardrail of that name. */
    add: (guardrail: Omit<Guardrail, 'config'> & TokenColumns & { config: string }) =>
      account.bind(add, { ...guardrail }),
    /** Undefined fields stay unchanged. `config` is JSON text. Fails with a constraint error if the name is taken. */
    update: (id: string, { name, config, action, onFailure, enabled, host }: GuardrailChanges) =>
      account.bind(update, {
        id,
        name: name ?? null,
        config: config ?? null,
        action: action ?? null,
        onFailure: onFailure ?? null,
        enabled: enabled ?? null,
        host: host ?? null,
      }),
    setToken: (id: string, token: TokenColumns) => account.bind(setToken, { id, ...token }),
    recover: (id: string) => account.bind(recover, { id }),
    detach: (id: string) => account.bind(detach, { id }),
    remove: (id: string) => account.bind(remove, { id }),
    requireExists: (id: string) => account.bind(requireExists, { id }),
    requireTokenIfOn: (id: string) => account.bind(requireTokenIfOn, { id }),
    requireNoToken: (id: string) => account.bind(requireNoToken, { id }),
    detachAll: (agent: string) => account.bind(detachAll, { agent }),
    /** Fails with a constraint error if the account does not have the agent or the guardrail. */
    attach: (agent: string, attachment: GuardrailAttachment) => account.bind(attach, { agent, ...attachment }),
    /** Attaches the guardrail to these live agents (null: all agents), except to people who have not consented. */
    attachTo: (id: string, direction: GuardrailDirection, agents: string[] | null) =>
      account.bind(attachTo, { id, direction, agents: agents && JSON.stringify(agents) }),
    /** Sets the direction for new agents; null removes it. */
    setAllAgents: (id: string, direction: GuardrailDirection | null) => account.bind(setAllAgents, { id, direction }),
    /** Stores a consent. If it is new, attaches the service's guardrails that are meant for all agents. */
    consent: (agent: string, service: TextService, at: number) => [
      account.bind(attachWithConsent, { agent, ...service }),
      account.bind(consent, { agent, ...service, at }),
    ],
    endConsent: (agent: string, service: TextService) => account.bind(endConsent, { agent, ...service }),
  }),
}
