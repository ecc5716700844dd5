/**
 * Approval rules decide which messages of an account wait for a person. See docs/protocol/guardrails.md, "Approval
 * rules".
 */
import { requireAdmin, requireConfirmed, requirePermission } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hour, isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { ApprovalRule } from '../../store/account/approval-rules.ts'
import type { NamedEntity } from '../../store/account/profile.ts'
import type { Statement } from '../../store/sql.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { changedRule, type RuleInput } from './rule-input.ts'

export const maxRules = 50

/** A rule with names instead of ids. */
export interface ShownRule extends Omit<RuleInput, 'deciders'> {
  id: string
  guardrail: string | null
  /** The deciders who are still members; empty if the owners decide. */
  deciders: { id: string; name: string }[]
  createdAt: string
  updatedAt: string
}

export async function listApprovalRules(account: AccountStore): Promise<ShownRule[]> {
  requirePermission(account.actor, 'view')
  return await shown(account, await account.read.approvalRules.list())
}

/** Fails with `not_found`. */
export async function showApprovalRule(account: AccountStore, id: string): Promise<ShownRule> {
  requirePermission(account.actor, 'view')
  const [rule] = await shown(account, [await findRule(account, id)])
  return rule
}

/** Fails with `invalid_input`, `agent_not_found`, `channel_not_found`, `guardrail_not_found` or `consent_required`. */
export async function createApprovalRule(
  account: AccountStore,
  input: Partial<RuleInput> & Pick<RuleInput, 'name' | 'from' | 'to'>,
): Promise<ShownRule> {
  requireAdmin(account.actor)
  const at = account.deps.now()
  const id = newId()
  return await retryOnConflict(async () => {
    const rules = await account.read.approvalRules.list()
    // The rule exists if an earlier attempt succeeded and its response was lost.
    const own = rules.find((rule) => rule.id === id)
    const rule = own ?? await changedRule(account, { ...blank, id, createdAt: at, updatedAt: at }, input, rules)
    if (!own) {
      if (rules.length >= maxRules) {
        throw invalidInput(`An account can have at most ${maxRules} approval rules.`, undefined)
      }
      const { approvalRules } = account.change
      await account.write([approvalRules.requireRoom(maxRules), approvalRules.add(rule)])
    }
    return (await shown(account, [rule]))[0]
  })
}

/**
 * Changes the given fields. Only an owner or admin who has recently confirmed their identity in the browser may do this
 * (`not_allowed`, `confirmation_required`). Also fails with `not_found`, and like `createApprovalRule`.
 */
export async function updateApprovalRule(
  account: AccountStore,
  id: string,
  input: Partial<RuleInput>,
): Promise<ShownRule> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const rules = await account.read.approvalRules.list()
    const before = rules.find((rule) => rule.id === id) ?? noRule()
    const changed = await changedRule(account, before, input, rules)
    const rule = { ...changed, updatedAt: Math.max(account.deps.now(), before.updatedAt + 1) }
    const { approvalRules } = account.change
    await account.write([
      ...await byPerson(account),
      approvalRules.requireUnchanged(before),
      approvalRules.update(rule),
    ])
    return (await shown(account, [rule]))[0]
  })
}

/** Deletes a rule. Messages that it holds stay held. Fails with `not_found`, and like `updateApprovalRule`. */
export async function deleteApprovalRule(account: AccountStore, id: string): Promise<{ id: string; name: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const rule = await findRule(account, id)
    const { approvalRules } = account.change
    await account.write([
      ...await byPerson(account),
      approvalRules.requireUnchanged(rule),
      approvalRules.remove(id),
    ])
    return { id, name: rule.name }
  })
}

/** Requires a person: agents may have admin keys, and no key may weaken the rules about agents' messages. */
async function byPerson(account: AccountStore): Promise<Statement[]> {
  const { actor, deps } = account
  if (actor.type !== 'user' && actor.type !== 'system') {
    throw new GridError(
      'not_allowed',
      'A key or token can only add approval rules. An owner or admin can change, switch off or delete one in the browser.',
    )
  }
  const { precondition } = await authorize(account, 'manage')
  requireConfirmed(actor, deps.now())
  return precondition
}

const blank: ApprovalRule = {
  id: '',
  name: '',
  fromKind: 'any',
  fromId: null,
  toKind: 'any',
  toId: null,
  condition: 'always',
  guardrailId: null,
  mediaType: null,
  minBytes: null,
  deciders: [],
  expiresMs: 24 * hour,
  enabled: true,
  isRisky: false,
  createdAt: 0,
  updatedAt: 0,
}

async function findRule(account: AccountStore, id: string): Promise<ApprovalRule> {
  return await account.read.approvalRules.byId(id) ?? noRule()
}

function noRule(): never {
  throw new GridError('not_found', 'There is no such approval rule, or it was deleted.')
}

async function shown(account: AccountStore, rules: readonly ApprovalRule[]): Promise<ShownRule[]> {
  const ids = rules.flatMap(({ fromId, toId, guardrailId, deciders }) => [fromId, toId, guardrailId, ...deciders])
  const found = await account.read.names.resolve(ids.filter((id) => id !== null), [])
  const entities = new Map(found.map((entity) => [entity.id, entity]))
  const nameOf = (kind: string, id: string | null) => id === null ? kind : nameOfEnd(entities.get(id))
  return rules.map(({ fromKind, fromId, toKind, toId, guardrailId, deciders, expiresMs, ...rule }) => ({
    id: rule.id,
    name: rule.name,
    from: nameOf(fromKind, fromId),
    to: nameOf(toKind, toId),
    condition: rule.condition,
    guardrail: guardrailId === null ? null : entities.get(guardrailId)?.name ?? guardrailId,
    mediaType: rule.mediaType,
    minBytes: rule.minBytes,
    deciders: deciders.flatMap((id) => entities.get(id) ?? []).map(({ id, name }) => ({ id, name })),
    expiresInHours: expiresMs / hour,
    enabled: rule.enabled,
    isRisky: rule.isRisky,
    createdAt: isoTime(rule.createdAt),
    updatedAt: isoTime(rule.updatedAt),
  }))
}

function nameOfEnd(entity: NamedEntity | undefined): string {
  return entity === undefined ? 'deleted' : `${entity.kind === 'channel' ? '#' : '@'}${entity.name}`
}
