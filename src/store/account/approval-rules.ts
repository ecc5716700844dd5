/** Approval rules: which messages of an account wait for a person's decision. */
import type { approvalRules as table } from '../../../db/schema.ts'
import { type AccountDb, boolean, json, precondition, query, statement } from '../sql.ts'

type Row = typeof table.$inferSelect

/** An approval rule. `db/schema.ts` explains its columns. */
export interface ApprovalRule extends Omit<Row, 'accountId' | 'deciders'> {
  deciders: string[]
}

/** An active rule. */
export interface ActiveApprovalRule extends ApprovalRule {
  /** The ids of the person aliases whose messages the rule does not hold, because the person has not consented. */
  exemptIds: string[]
}

/** The entry in `guardrail_consents` by which a person allows rules to hold messages of their alias. */
export const approvalConsent = { provider: 'approvals', host: 'members' }

const columns = `id, name, from_kind, from_id, to_kind, to_id, condition, guardrail_id, media_type, min_bytes,
  deciders, expires_ms, enabled, is_risky, created_at, updated_at`
const decoders = { deciders: json, enabled: boolean, isRisky: boolean }
const list = query<ApprovalRule>(
  `SELECT ${columns} FROM approval_rules WHERE account_id = :account ORDER BY id`,
  decoders,
)
const byId = query<ApprovalRule>(
  `SELECT ${columns} FROM approval_rules WHERE account_id = :account AND id = :id`,
  decoders,
)
const active = query<ApprovalRule>(
  `SELECT ${columns} FROM approval_rules WHERE account_id = :account AND enabled ORDER BY id`,
  decoders,
)
interface People {
  /** The members who may decide, each as id and role. */
  members: [string, string][]
  /** The ids of the person aliases without consent to having their messages held, each with the user's id. */
  unasked: [string, string][]
}
const people = query<People>(
  `
  SELECT (SELECT json_group_array(json_array(user_id, role)) FROM memberships
      WHERE account_id = :account AND role <> 'viewer') AS members,
    (SELECT json_group_array(json_array(person_aliases.agent_id, person_aliases.user_id)) FROM person_aliases
      WHERE person_aliases.account_id = :account AND NOT EXISTS (SELECT 1 FROM guardrail_consents
        WHERE guardrail_consents.account_id = :account AND guardrail_consents.agent_id = person_aliases.agent_id
          AND guardrail_consents.provider = :provider AND guardrail_consents.host = :host)) AS unasked`,
  { members: json, unasked: json },
)

const add = statement(`
  INSERT INTO approval_rules (account_id, ${columns})
  VALUES (:account, :id, :name, :fromKind, :fromId, :toKind, :toId, :condition, :guardrailId, :mediaType, :minBytes,
    :deciders, :expiresMs, :enabled, :isRisky, :createdAt, :updatedAt)`)
const update = statement(`
  UPDATE approval_rules SET name = :name, from_kind = :fromKind, from_id = :fromId, to_kind = :toKind, to_id = :toId,
    condition = :condition, guardrail_id = :guardrailId, media_type = :mediaType, min_bytes = :minBytes,
    deciders = :deciders, expires_ms = :expiresMs, enabled = :enabled, is_risky = :isRisky, updated_at = :updatedAt
  WHERE account_id = :account AND id = :id`)
const remove = statement('DELETE FROM approval_rules WHERE account_id = :account AND id = :id')
const requireRoom = precondition('(SELECT count(*) FROM approval_rules WHERE account_id = :account) < :max')
const requireUnchanged = precondition(`EXISTS (
  SELECT 1 FROM approval_rules WHERE account_id = :account AND id = :id AND updated_at = :updatedAt)`)

export const approvalRules = {
  reads: (account: AccountDb) => ({
    /** Rules in order of creation. */
    list: () => account.all(list),
    byId: (id: string) => account.one(byId, { id }),
    /** The ids of the person aliases whose messages are not held by rules with these deciders. */
    exemptIds: async (deciders: string[]) => exemptIds(deciders, (await account.one(people, approvalConsent))!),
    /** At most 50 active rules. Read only if `guards` contains `senderHolds` or `recipientHolds`. */
    async active(): Promise<ActiveApprovalRule[]> {
      const [rules, found] = await Promise.all([account.all(active), account.one(people, approvalConsent)])
      return rules.map((rule) => ({ ...rule, exemptIds: exemptIds(rule.deciders, found!) }))
    },
  }),
  changes: (account: AccountDb) => ({
    /** Fails with a constraint error if the account has a rule of that name. */
    add: (rule: ApprovalRule) => account.bind(add, { ...rule, deciders: JSON.stringify(rule.deciders) }),
    /** Replaces all fields except the creation time. Fails with a constraint error if the name is taken. */
    update: (rule: ApprovalRule) => account.bind(update, { ...rule, deciders: JSON.stringify(rule.deciders) }),
    remove: (id: string) => account.bind(remove, { id }),
    requireRoom: (max: number) => account.bind(requireRoom, { max }),
    requireUnchanged: ({ id, updatedAt }: ApprovalRule) => account.bind(requireUnchanged, { id, updatedAt }),
  }),
}

/** The ids of the person aliases without consent, except an alias whose person is the only one who may decide. */
function exemptIds(named: readonly string[], { members, unasked }: People): string[] {
  const present = members.filter(([userId]) => named.includes(userId))
  const deciders = present.length > 0 ? present : members.filter(([, role]) => role === 'owner')
  return unasked.filter(([, holder]) => deciders.some(([userId]) => userId !== holder)).map(([agentId]) => agentId)
}
