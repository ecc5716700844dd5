/** The guardrails that a send has to ask: whether there are any, and which. */
import type { guardrails } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { type AccountDb, boolean, query } from '../sql.ts'

type GuardrailAction = typeof guardrails.$inferSelect.action
export type CheckedDirection = 'inbound' | 'outbound'

export interface ActiveGuardrail {
  agentId: string
  id: string
  name: string
  provider: string
  config: string
  action: GuardrailAction
  direction: CheckedDirection
  onFailure: typeof guardrails.$inferSelect.onFailure
  /** The service that gets the texts of a person's alias; null for other agents and local providers. */
  sharedWith: string | null
  token?: SealedToken
}

/** `guards` of a message is the sum of these, or 0 if no guardrail checks it. */
export const senderIsGuarded = 1
export const recipientIsGuarded = 2

const isOfPerson = `EXISTS (SELECT 1 FROM agents
  WHERE agents.account_id = agent_guardrails.account_id AND agents.id = agent_guardrails.agent_id
    AND agents.type = 'human')`
// Without the consent of a person, a guardrail sends none of their messages to a service. So it does not act on them.
const joinEnabled = `JOIN guardrails ON guardrails.account_id = agent_guardrails.account_id
  AND guardrails.id = agent_guardrails.guardrail_id AND guardrails.enabled
  AND (guardrails.host IS NULL OR NOT ${isOfPerson} OR EXISTS (SELECT 1 FROM guardrail_consents
    WHERE guardrail_consents.account_id = agent_guardrails.account_id
      AND guardrail_consents.agent_id = agent_guardrails.agent_id
      AND guardrail_consents.provider = guardrails.provider AND guardrail_consents.host = guardrails.host))`
const isOf = (direction: CheckedDirection) => `agent_guardrails.direction IN ('both', '${direction}')`

/** `guards` of a direct message of the agent `sender` of the calling account to the agent of the row `agents`. */
export function guardsOfDirect(sender: string, isOtherAccount: boolean): string {
  const account = isOtherAccount ? ':account' : 'agents.account_id'
  const ofSender = isGuarded(account, sender, 'outbound')
  const ofRecipient = `2 * ${isGuarded('agents.account_id', 'agents.id', 'inbound')}`
  return isOtherAccount
    ? `${ifAny(account, ofSender)} + ${ifAny('agents.account_id', ofRecipient)}`
    : ifAny(account, `${ofSender} + ${ofRecipient}`)
}

/** `guards` of a post of the agent `sender` to the channel of the row `channels`. */
export function guardsOfPost(sender: string): string {
  // It begins with the guardrails, because there may be many members.
  const ofMembers = `2 * EXISTS (SELECT 1 FROM agent_guardrails
    CROSS JOIN channel_members ON channel_members.account_id = agent_guardrails.account_id
      AND channel_members.channel_id = channels.id AND channel_members.agent_id = agent_guardrails.agent_id
    ${joinEnabled}
    WHERE agent_guardrails.account_id = channels.account_id AND ${isOf('inbound')})`
  return ifAny('channels.account_id', `${isGuarded('channels.account_id', sender, 'outbound')} + ${ofMembers}`)
}

/** The sum if any agent of the account has a guardrail, otherwise 0, without a look at the rest. */
function ifAny(account: string, sum: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM agent_guardrails WHERE agent_guardrails.account_id = ${account})
    THEN ${sum} ELSE 0 END`
}

function isGuarded(account: string, agent: string, direction: CheckedDirection): string {
  return `EXISTS (SELECT 1 FROM agent_guardrails ${joinEnabled}
    WHERE agent_guardrails.account_id = ${account} AND agent_guardrails.agent_id = ${agent} AND ${isOf(direction)})`
}

type ActiveRow = Omit<ActiveGuardrail, 'direction' | 'token'> & { [Column in keyof SealedToken]: string | null }

const activeColumns =
  `agent_guardrails.agent_id, guardrails.id, guardrails.name, guardrails.provider, guardrails.config,
  coalesce(agent_guardrails.action, guardrails.action) AS action, guardrails.on_failure,
  iif(${isOfPerson}, guardrails.host, NULL) AS shared_with,
  guardrails.encrypted_token, guardrails.token_iv, guardrails.token_auth_tag, guardrails.token_key_id`
const ofAgent = (direction: CheckedDirection) =>
  query<ActiveRow>(`
    SELECT ${activeColumns} FROM agent_guardrails ${joinEnabled}
    WHERE agent_guardrails.account_id = :account AND agent_guardrails.agent_id = :agent AND ${isOf(direction)}`)
const byDirection = { inbound: ofAgent('inbound'), outbound: ofAgent('outbound') }
const ofMembers = query<ActiveRow>(`
  SELECT ${activeColumns} FROM agent_guardrails ${joinEnabled}
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

const asActive = (direction: CheckedDirection) =>
(
  { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId, ...row }: ActiveRow,
): ActiveGuardrail => ({
  ...row,
  direction,
  ...(encryptedToken !== null && {
    token: { encryptedToken, tokenIv: tokenIv!, tokenAuthTag: tokenAuthTag!, tokenKeyId: tokenKeyId! },
  }),
})

export const guarding = {
  reads: (account: AccountDb) => ({
    ofAgent: async (agent: string, direction: CheckedDirection): Promise<ActiveGuardrail[]> =>
      (await account.all(byDirection[direction], { agent })).map(asActive(direction)),
    /** The inbound ones of the live members of a channel, except the sender: a row for each member and guardrail. */
    ofMembers: async (channel: string, from: string): Promise<ActiveGuardrail[]> =>
      (await account.all(ofMembers, { channel, from })).map(asActive('inbound')),
    /** Whether people may see blocked texts, and the guardrails that let the text with this SHA-256 pass. */
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
