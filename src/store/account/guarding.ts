/** Finds the guardrails for a send. */
import type { guardrails } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { approvalConsent } from './approval-rules.ts'
import { type AccountDb, boolean, type Query, query, type Values } from '../sql.ts'

type GuardrailAction = typeof guardrails.$inferSelect.action
export type CheckedDirection = 'inbound' | 'outbound'

/** A guardrail with the agents for which it checks a message. It has the same action for all of them. */
export interface ActiveGuardrail {
  agentIds: string[]
  id: string
  name: string
  provider: string
  config: string
  action: GuardrailAction
  direction: CheckedDirection
  onFailure: typeof guardrails.$inferSelect.onFailure
  /** The service that receives the texts of people among the agents. Null without people or for a local provider. */
  sharedWith: string | null
  /** Since when its checks have failed; null while they succeed. */
  failingSince: number | null
  token?: SealedToken
}

/** `guards` of a message is the sum of these numbers. 0: no guardrail or approval rule may act on the message. */
export const senderIsGuarded = 1
export const recipientIsGuarded = 2
/** The sender's account has approval rules. */
export const senderHolds = 4
/** The recipient's account has approval rules and differs from the sender's. */
export const recipientHolds = 8

const isOfPerson = `EXISTS (SELECT 1 FROM agents
  WHERE agents.account_id = agent_guardrails.account_id AND agents.id = agent_guardrails.agent_id
    AND agents.type = 'human')`
const isAllowed = (provider: string, host: string) =>
  `(NOT ${isOfPerson} OR EXISTS (SELECT 1 FROM guardrail_consents
    WHERE guardrail_consents.account_id = agent_guardrails.account_id
    AND guardrail_consents.agent_id = agent_guardrails.agent_id
    AND guardrail_consents.provider = ${provider} AND guardrail_consents.host = ${host}))`
// A guardrail that sends messages to a service, or lets others decide, checks a person's messages only with their
// consent.
const joinEnabled = `JOIN guardrails ON guardrails.account_id = agent_guardrails.account_id
  AND guardrails.id = agent_guardrails.guardrail_id AND guardrails.enabled
  AND (guardrails.host IS NULL OR ${isAllowed('guardrails.provider', 'guardrails.host')})
  AND (coalesce(agent_guardrails.action, guardrails.action) <> 'hold'
    OR ${isAllowed(`'${approvalConsent.provider}'`, `'${approvalConsent.host}'`)})`
const isOf = (direction: CheckedDirection) => `agent_guardrails.direction IN ('both', '${direction}')`

/** `guards` of a direct message from the calling account's agent `sender` to the agent of the row `agents`. */
export function guardsOfDirect(sender: string, isOtherAccount: boolean): string {
  const account = isOtherAccount ? ':account' : 'agents.account_id'
  const ofSender = isGuarded(account, sender, 'outbound')
  const ofRecipient = `2 * ${isGuarded('agents.account_id', 'agents.id', 'inbound')}`
  return isOtherAccount
    ? `${ifAny(account, ofSender)} + ${ifAny('agents.account_id', ofRecipient)}
      + ${senderHolds} * ${holds(account)} + ${recipientHolds} * ${holds('agents.account_id')}`
    : `${ifAny(account, `${ofSender} + ${ofRecipient}`)} + ${senderHolds} * ${holds(account)}`
}

/** `guards` of a post by the agent `sender` to the channel of the row `channels`. */
export function guardsOfPost(sender: string): string {
  // Starts with the guardrails, because a channel may have many members.
  const ofMembers = `2 * EXISTS (SELECT 1 FROM agent_guardrails
    CROSS JOIN channel_members ON channel_members.account_id = agent_guardrails.account_id
      AND channel_members.channel_id = channels.id AND channel_members.agent_id = agent_guardrails.agent_id
    ${joinEnabled}
    WHERE agent_guardrails.account_id = channels.account_id AND ${isOf('inbound')})`
  return `${ifAny('channels.account_id', `${isGuarded('channels.account_id', sender, 'outbound')} + ${ofMembers}`)}
    + ${senderHolds} * ${holds('channels.account_id')}`
}

function holds(account: string): string {
  return `EXISTS (SELECT 1 FROM approval_rules WHERE approval_rules.account_id = ${account} AND approval_rules.enabled)`
}

/** `sum` if any agent of the account has a guardrail. Otherwise 0, without evaluating `sum`. */
function ifAny(account: string, sum: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM agent_guardrails WHERE agent_guardrails.account_id = ${account})
    THEN ${sum} ELSE 0 END`
}

function isGuarded(account: string, agent: string, direction: CheckedDirection): string {
  return `EXISTS (SELECT 1 FROM agent_guardrails ${joinEnabled}
    WHERE agent_guardrails.account_id = ${account} AND agent_guardrails.agent_id = ${agent} AND ${isOf(direction)})`
}

/** `attached` is JSON: the ids of agents, each with its own action or null. */
type ActiveRow =
  & Omit<ActiveGuardrail, 'agentIds' | 'direction' | 'token'>
  & { attached: string }
  & {
    [Column in keyof SealedToken]: string | null
  }

/** A row for each guardrail of the agents in `attached`. Groups agents first, so that configurations are read once. */
const ofAttached = (attached: string) =>
  query<ActiveRow>(`
    SELECT attached.attached, guardrails.id, guardrails.name, guardrails.provider, guardrails.config, guardrails.action,
      guardrails.on_failure, guardrails.failing_since, iif(attached.has_person, guardrails.host, NULL) AS shared_with,
      guardrails.encrypted_token, guardrails.token_iv, guardrails.token_auth_tag, guardrails.token_key_id
    FROM (
      SELECT agent_guardrails.guardrail_id,
        json_group_array(json_array(agent_guardrails.agent_id, agent_guardrails.action)) AS attached,
        max(${isOfPerson}) AS has_person
      FROM agent_guardrails ${joinEnabled} ${attached} AND agent_guardrails.guardrail_id > :after
      GROUP BY agent_guardrails.guardrail_id ORDER BY agent_guardrails.guardrail_id LIMIT :limit
    ) AS attached
    CROSS JOIN guardrails ON guardrails.account_id = :account AND guardrails.id = attached.guardrail_id
    ORDER BY attached.guardrail_id`)
const ofAgent = (direction: CheckedDirection) =>
  ofAttached(
    `WHERE agent_guardrails.account_id = :account AND agent_guardrails.agent_id = :agent AND ${isOf(direction)}`,
  )
const byDirection = { inbound: ofAgent('inbound'), outbound: ofAgent('outbound') }
const ofMembers = ofAttached(`
      JOIN channel_members ON channel_members.account_id = agent_guardrails.account_id
        AND channel_members.agent_id = agent_guardrails.agent_id AND channel_members.channel_id = :channel
      JOIN agents ON agents.account_id = agent_guardrails.account_id AND agents.id = agent_guardrails.agent_id
        AND agents.deleted_at IS NULL
      WHERE agent_guardrails.account_id = :account AND agent_guardrails.agent_id <> :from AND ${isOf('inbound')}`)
const aboutText = query<{ keepsContents: boolean; allowedBy: string }>(
  `
  SELECT accounts.people_see_contents AS keeps_contents,
    (SELECT json_group_array(guardrail_exceptions.guardrail_id) FROM guardrail_exceptions
      WHERE guardrail_exceptions.account_id = :account AND guardrail_exceptions.text_hash = :hash) AS allowed_by
  FROM accounts WHERE accounts.id = :account`,
  { keepsContents: boolean },
)

async function* inPages(
  account: AccountDb,
  page: Query<ActiveRow>,
  direction: CheckedDirection,
  values: Values,
): AsyncGenerator<ActiveGuardrail[]> {
  for (let after = '';;) {
    const rows = await account.all(page, { ...values, after, limit: pageSize })
    yield rows.flatMap((row) => asActive(row, direction))
    if (rows.length < pageSize) return
    after = rows[pageSize - 1].id
  }
}

/** Returns one guardrail for each action in the row, with the agents that have this action. */
function asActive(
  { attached, encryptedToken, tokenIv, tokenAuthTag, tokenKeyId, ...row }: ActiveRow,
  direction: CheckedDirection,
): ActiveGuardrail[] {
  const agentsOf = new Map<GuardrailAction, string[]>()
  for (const [agentId, action] of JSON.parse(attached) as [string, GuardrailAction | null][]) {
    const agentIds = agentsOf.get(action ?? row.action)
    if (agentIds) agentIds.push(agentId)
    else agentsOf.set(action ?? row.action, [agentId])
  }
  const token = encryptedToken === null
    ? undefined
    : { encryptedToken, tokenIv: tokenIv!, tokenAuthTag: tokenAuthTag!, tokenKeyId: tokenKeyId! }
  return [...agentsOf].map(([action, agentIds]) => ({ ...row, action, agentIds, direction, token }))
}

/** Configurations can have 100 kB, so only a few are read at a time. */
const pageSize = 20

export const guarding = {
  reads: (account: AccountDb) => ({
    ofAgent: (agent: string, direction: CheckedDirection) =>
      inPages(account, byDirection[direction], direction, { agent }),
    /** The inbound guardrails of a channel's live members, except the sender. */
    ofMembers: (channel: string, from: string) => inPages(account, ofMembers, 'inbound', { channel, from }),
    /** Whether people may see blocked texts, and the guardrails with an exception for the text with this SHA-256. */
    async aboutText(hash: string): Promise<{ keepsContents: boolean; allowedBy: Set<string> }> {
      const found = await account.one(aboutText, { hash })
      return {
        keepsContents: found?.keepsContents ?? false,
        allowedBy: new Set(JSON.parse(found?.allowedBy ?? '[]')),
      }
    },
  }),
  changes: () => ({}),
}
