/** Stores incoming hooks. See docs/protocol/incoming.md. */
import type { HookDelivery, incomingHooks as table } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import type { TokenColumns } from '../../store/account/agents.ts'
import {
  type AccountDb,
  boolean,
  crossAccountQuery,
  type Db,
  insertedToken,
  precondition,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../../store/sql.ts'

export type { HookDelivery }

type Stored = typeof table.$inferSelect
export type HookFormat = Stored['format']

export interface HookRow extends Pick<Stored, 'id' | 'agentId' | 'format' | 'template' | 'createdAt'> {
  /** The sender's alias. */
  alias: string
  /** `@alias` or `#channel`. Null if the recipient was deleted. */
  recipient: string | null
  isSigned: boolean
  /** Whether a guardrail checks the messages that the target agent receives. Always true for a channel. */
  isGuarded: boolean
  /** JSON of `HookDelivery`s, newest first. */
  deliveries: string
}

export interface NewHook extends Pick<Stored, 'id' | 'agentId' | 'tokenHash' | 'format' | 'template'>, TokenColumns {
  toAgentId: string | null
  channelId: string | null
}

export const maxHooks = 50
const keptDeliveries = 20

const where = (condition: string) =>
  query<HookRow>(
    `
  SELECT hook.id, hook.agent_id, sender.alias, hook.format, hook.template, hook.created_at, hook.deliveries,
    coalesce('@' || target.alias, '#' || channels.name) AS recipient, hook.encrypted_token IS NOT NULL AS is_signed,
    hook.to_agent_id IS NULL OR EXISTS (SELECT 1 FROM agent_guardrails
      JOIN guardrails ON guardrails.account_id = :account AND guardrails.id = agent_guardrails.guardrail_id
      WHERE agent_guardrails.account_id = :account AND agent_guardrails.agent_id = hook.to_agent_id
        AND agent_guardrails.direction <> 'outbound' AND guardrails.enabled) AS is_guarded
  FROM incoming_hooks AS hook
  JOIN agents AS sender ON sender.account_id = :account AND sender.id = hook.agent_id AND sender.deleted_at IS NULL
  LEFT JOIN agents AS target ON target.account_id = :account AND target.id = hook.to_agent_id
    AND target.deleted_at IS NULL
  LEFT JOIN channels ON channels.account_id = :account AND channels.id = hook.channel_id AND channels.deleted_at IS NULL
  WHERE hook.account_id = :account AND ${condition} ORDER BY sender.alias`,
    { isSigned: boolean, isGuarded: boolean },
  )
const list = where('1')
const byId = where('hook.id = :id')
const sealed = query<SealedToken>(`
  SELECT ${sealedColumns} FROM incoming_hooks WHERE account_id = :account AND id = :id AND encrypted_token IS NOT NULL`)
const hooks = 'SELECT count(*) AS n FROM incoming_hooks WHERE account_id = :account'
const count = query<{ n: number }>(hooks)
const requireRoom = precondition(`(${hooks}) < ${maxHooks}`)
const add = statement(`
  INSERT INTO incoming_hooks (account_id, id, token_hash, agent_id, to_agent_id, channel_id, format, template,
    ${sealedColumns}, created_at)
  VALUES (:account, :id, :tokenHash, :agentId, :toAgentId, :channelId, :format, :template, ${insertedToken}, :at)`)
const remove = statement('DELETE FROM incoming_hooks WHERE account_id = :account AND id = :id')
const delivered = statement(`
  UPDATE incoming_hooks SET deliveries = (SELECT json_group_array(json(value)) FROM (
    SELECT -1 AS key, :delivery AS value UNION ALL SELECT key, value FROM json_each(incoming_hooks.deliveries)
    ORDER BY key LIMIT ${keptDeliveries}))
  WHERE account_id = :account AND id = :id`)

const byToken = crossAccountQuery<{ accountId: string; id: string }>(
  'incoming hook by token',
  `
  SELECT account_id, id FROM incoming_hooks WHERE token_hash = :hash AND NOT EXISTS (
    SELECT 1 FROM accounts WHERE accounts.id = incoming_hooks.account_id AND accounts.deleted_at IS NOT NULL)`,
)

export const incomingLookUps = (db: Db) => ({
  /** Finds a hook by the SHA-256 hash of its token. */
  byToken: async (hash: string) => {
    const found = await db.one(byToken, { hash })
    return found && { owner: found.accountId, id: found.id }
  },
})

export const incomingTables = {
  reads: (account: AccountDb) => ({
    list: () => account.all(list, {}),
    byId: (id: string) => account.one(byId, { id }),
    /** The hook's secret; undefined if requests are not signed. */
    sealed: (id: string) => account.one(sealed, { id }),
    count: async () => (await account.one(count, {}))!.n,
  }),
  changes: (account: AccountDb) => ({
    /** Fails the transaction if the account already has `maxHooks`. */
    add: (hook: NewHook, at: number): Statement[] => [
      account.bind(requireRoom, {}),
      account.bind(add, { ...hook, at }),
    ],
    remove: (id: string): Statement => account.bind(remove, { id }),
    delivered: (id: string, delivery: HookDelivery): Statement =>
      account.bind(delivered, { id, delivery: JSON.stringify(delivery) }),
  }),
}
