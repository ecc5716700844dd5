/** The guardrails that a send has to ask: whether there are any, and which. See docs/delivery.md, "Guardrails". */
import { and, eq, isNull, ne, type Placeholder, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import {
  accounts,
  agentGuardrails,
  agents,
  channelMembers,
  guardrailExceptions,
  guardrails,
} from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { sealedColumns } from '../driver/sealed-columns-old.ts'
import { inAccount } from '../in-account-old.ts'
import type { Lookups } from '../lookups.ts'

type GuardrailAction = typeof guardrails.$inferSelect.action
export type CheckedDirection = 'inbound' | 'outbound'

/** A guardrail that checks messages of an agent. */
export interface ActiveGuardrail {
  agentId: string
  id: string
  name: string
  provider: string
  /** JSON text. */
  config: string
  /** The one for this agent. */
  action: GuardrailAction
  direction: CheckedDirection
  onFailure: typeof guardrails.$inferSelect.onFailure
  /** Undefined if it has none. */
  token?: SealedToken
}

/** `guards` of a message is the sum of these, or 0 if no guardrail checks it. */
export const senderIsGuarded = 1
export const recipientIsGuarded = 2

/**
 * `guards` of a direct message of the agent `sender` of the calling account to the agent of the row: a column of the
 * queries of every send. Most accounts have no guardrails, and one look at an index says so.
 */
export function guardsOfDirect(sender: Placeholder, recipient: Agent, isOtherAccount: boolean) {
  const account = isOtherAccount ? p('account') : recipient.accountId
  const ofSender = sql`${isGuarded(account, sender, 'outbound')}`
  const ofRecipient = sql`2 * ${isGuarded(recipient.accountId, recipient.id, 'inbound')}`
  const guards = isOtherAccount
    ? sql`${ifAny(account, ofSender)} + ${ifAny(recipient.accountId, ofRecipient)}`
    : ifAny(account, sql`${ofSender} + ${ofRecipient}`)
  return sql<number>`${guards}`.as('guards')
}

/** `guards` of a post of the agent `sender` to the channel of the row. */
export function guardsOfPost(sender: Placeholder, channel: Agent) {
  const account = channel.accountId
  // It begins with the guardrails, because there may be many members.
  const ofMembers = sql`2 * EXISTS (SELECT 1 FROM ${agentGuardrails} CROSS JOIN ${channelMembers}
    ON ${channelMembers.accountId} = ${agentGuardrails.accountId} AND ${channelMembers.channelId} = ${channel.id}
    AND ${channelMembers.agentId} = ${agentGuardrails.agentId} INNER JOIN ${guardrails} ON ${isEnabledAttachment}
    WHERE ${agentGuardrails.accountId} = ${account} AND ${isOf('inbound')})`
  const guards = ifAny(account, sql`${isGuarded(account, sender, 'outbound')} + ${ofMembers}`)
  return sql<number>`${guards}`.as('guards')
}

type Agent = Record<'accountId' | 'id', SQLiteColumn>

/** The sum if any agent of the account has a guardrail, otherwise 0, without a look at the rest. */
function ifAny(account: SQLWrapper, sum: SQL): SQL {
  return sql`CASE WHEN EXISTS (SELECT 1 FROM ${agentGuardrails} WHERE ${agentGuardrails.accountId} = ${account})
    THEN ${sum} ELSE 0 END`
}

/** Whether an enabled guardrail checks what an agent sends or receives. */
function isGuarded(account: SQLWrapper, agent: SQLWrapper, direction: CheckedDirection): SQL {
  return sql`EXISTS (SELECT 1 FROM ${agentGuardrails} INNER JOIN ${guardrails} ON ${isEnabledAttachment}
    WHERE ${agentGuardrails.accountId} = ${account} AND ${agentGuardrails.agentId} = ${agent} AND ${isOf(direction)})`
}

const isEnabledAttachment = and(
  eq(guardrails.accountId, agentGuardrails.accountId),
  eq(guardrails.id, agentGuardrails.guardrailId),
  sql`${guardrails.enabled}`,
)!

function isOf(direction: CheckedDirection): SQL {
  return direction === 'inbound'
    ? sql`${agentGuardrails.direction} IN ('both', 'inbound')`
    : sql`${agentGuardrails.direction} IN ('both', 'outbound')`
}

/** Of how many agents the guardrails of each direction are kept in memory, and up to as many others. */
const maxKept = 1_000
/** Longer configurations of an agent, such as long lists of phrases, are read each time. */
const maxKeptLength = 16_384

export function prepareGuarding(db: Db, lookups: Lookups) {
  const fields = {
    agentId: agentGuardrails.agentId,
    id: guardrails.id,
    name: guardrails.name,
    provider: guardrails.provider,
    config: sql<string>`${guardrails.config}`.as('config'),
    action: sql<GuardrailAction>`coalesce(${agentGuardrails.action}, ${guardrails.action})`.as('action'),
    onFailure: guardrails.onFailure,
    ...sealedColumns(guardrails),
  }
  const active = db.select(fields).from(agentGuardrails).innerJoin(guardrails, isEnabledAttachment)
  const ofAgent = (direction: CheckedDirection) => {
    const query = db.select(fields).from(agentGuardrails).innerJoin(guardrails, isEnabledAttachment)
      .where(inAccount(agentGuardrails, eq(agentGuardrails.agentId, p('agent')), isOf(direction))).prepare()
    return { query, lookup: lookups.of<{ active: readonly ActiveGuardrail[] }>({ ...query.getQuery(), maxKept }) }
  }
  const byDirection = { inbound: ofAgent('inbound'), outbound: ofAgent('outbound') }
  const ofMembers = active
    .innerJoin(
      channelMembers,
      and(
        eq(channelMembers.accountId, agentGuardrails.accountId),
        eq(channelMembers.agentId, agentGuardrails.agentId),
        eq(channelMembers.channelId, p('channel')),
      ),
    )
    .innerJoin(
      agents,
      and(
        eq(agents.accountId, agentGuardrails.accountId),
        eq(agents.id, agentGuardrails.agentId),
        isNull(agents.deletedAt),
      ),
    )
    .where(inAccount(agentGuardrails, ne(agentGuardrails.agentId, p('from')), isOf('inbound'))).prepare()

  const allowing = db.select({ json: sql`json_group_array(${guardrailExceptions.guardrailId})` }).from(
    guardrailExceptions,
  )
    .where(inAccount(guardrailExceptions, eq(guardrailExceptions.textHash, p('hash'))))
  const aboutText = db.select({
    keepsContents: accounts.peopleSeeContents,
    allowedBy: sql<string>`(${allowing})`.as('allowed_by'),
  }).from(accounts).where(eq(accounts.id, p('account'))).prepare()

  type Row = Awaited<ReturnType<typeof ofMembers.all>>[number]
  const asActive = (direction: CheckedDirection) =>
  (
    { encryptedToken, tokenIv, tokenAuthTag, tokenKeyId, ...row }: Row,
  ): ActiveGuardrail => ({
    ...row,
    direction,
    ...(encryptedToken !== null && {
      token: { encryptedToken, tokenIv: tokenIv!, tokenAuthTag: tokenAuthTag!, tokenKeyId: tokenKeyId! },
    }),
  })

  return {
    reads: (account: AccountBinding) => ({
      /** The enabled guardrails of an agent in a direction. They are shared with other sends. */
      async ofAgent(agent: string, direction: CheckedDirection): Promise<readonly ActiveGuardrail[]> {
        const { query, lookup } = byDirection[direction]
        const found = await lookup.find(
          `${account.accountId} ${agent}`,
          async () => {
            const rows = await account.all(query, { agent })
            return rows.length > 0 ? { active: rows.map(asActive(direction)) } : undefined
          },
          ({ active }) => isKept(active) ? [account.accountId] : undefined,
        )
        return found?.active ?? []
      },
      /** The inbound ones of the live members of a channel, except the sender: a row for each member and guardrail. */
      ofMembers: async (channel: string, from: string): Promise<ActiveGuardrail[]> =>
        (await account.all(ofMembers, { channel, from })).map(asActive('inbound')),
      /**
       * Whether the people of the account may see the texts that are blocked, and the ids of the guardrails that let the
       * text with this SHA-256 pass.
       */
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
}

function isKept(active: readonly ActiveGuardrail[]): boolean {
  return active.reduce((length, { config }) => length + config.length, 0) <= maxKeptLength
}
