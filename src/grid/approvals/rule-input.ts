/** Validates the input of approval rules. */
import { GridError, invalidInput } from '../../errors.ts'
import { normaliseChannelName } from '../../aliases.ts'
import { isPlainName } from '../../lib/names.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { ApprovalRule } from '../../store/account/approval-rules.ts'
import { findAgent } from '../agents/find-agent.ts'
import { findGuardrail } from '../guardrails/list-guardrails.ts'

export const senderKinds = ['any', 'external', 'people', 'remote'] as const
export const conditions = ['always', 'finding', 'parts'] as const
export const maxDeciders = 20
export const maxExpiryHours = 7 * 24
const maxNameLength = 64
const maxMediaTypeLength = 100

export interface RuleInput {
  name: string
  /** `@alias`, or one of `senderKinds`. */
  from: string
  /** `@alias`, one of `senderKinds`, or `#channel`. */
  to: string
  condition: typeof conditions[number]
  /** For findings: the guardrail's id or name; null for any. */
  guardrail: string | null
  /** For parts: a prefix of the media type; null for any. */
  mediaType: string | null
  /** For parts: the minimum size; null for any. */
  minBytes: number | null
  /** Members by id or email address. If empty, the owners decide. */
  deciders: string[]
  /** 1 to 168. */
  expiresInHours: number
  enabled: boolean
  isRisky: boolean
}

/** Returns the rule with the given changes. `rules`: all rules of the account. */
export async function changedRule(
  account: AccountStore,
  before: ApprovalRule,
  input: Partial<RuleInput>,
  rules: readonly ApprovalRule[],
): Promise<ApprovalRule> {
  const condition = input.condition ?? impliedCondition(input) ?? before.condition
  const rule: ApprovalRule = {
    ...before,
    ...input.name !== undefined && { name: nameOf(input.name, before.id, rules) },
    ...input.from !== undefined && await senderOf(account, input.from),
    ...input.to !== undefined && await recipientOf(account, input.to),
    condition,
    guardrailId: condition === 'finding' ? await guardrailOf(account, input.guardrail, before.guardrailId) : null,
    mediaType: condition === 'parts' ? mediaTypeOf(input.mediaType, before.mediaType) : null,
    minBytes: condition === 'parts' ? input.minBytes === undefined ? before.minBytes : input.minBytes : null,
    deciders: input.deciders === undefined ? before.deciders : await decidersOf(account, input.deciders),
    expiresMs: input.expiresInHours === undefined ? before.expiresMs : input.expiresInHours * hour,
    enabled: input.enabled ?? before.enabled,
    isRisky: input.isRisky ?? before.isRisky,
  }
  await requireConsents(account, rule)
  return rule
}

function impliedCondition({ guardrail, mediaType, minBytes }: Partial<RuleInput>): RuleInput['condition'] | undefined {
  return guardrail ? 'finding' : mediaType || minBytes != null ? 'parts' : undefined
}

function nameOf(text: string, id: string, rules: readonly ApprovalRule[]): string {
  const name = wellFormed(text)?.trim()
  if (!name || !hasAtMost(name, maxNameLength) || !isPlainName(name)) {
    throw invalidInput(
      `The name of an approval rule must have 1 to ${maxNameLength} characters, and no invisible ones.`,
      'name',
    )
  }
  if (rules.some((rule) => rule.name === name && rule.id !== id)) {
    throw invalidInput(`The account has an approval rule ${name}. Choose another name.`, 'name')
  }
  return name
}

/** Returns the kind of sender or recipient that the text names, if any. `strangers` is an alias of `external`. */
function kindOf(end: string): typeof senderKinds[number] | undefined {
  return senderKinds.find((kind) => kind === (end === 'strangers' ? 'external' : end))
}

async function senderOf(account: AccountStore, from: string): Promise<Pick<ApprovalRule, 'fromKind' | 'fromId'>> {
  const kind = kindOf(from)
  if (kind) return { fromKind: kind, fromId: null }
  if (from === '@') throw invalidInput('Choose an agent.', 'from')
  if (!from.startsWith('@')) throw notAnEnd('from', `an @alias, ${senderKinds.join(', ')}`)
  return { fromKind: 'agent', fromId: (await findAgent(account, from, 'from')).id }
}

async function recipientOf(account: AccountStore, to: string): Promise<Pick<ApprovalRule, 'toKind' | 'toId'>> {
  const kind = kindOf(to)
  if (kind) return { toKind: kind, toId: null }
  if (to === '@' || to === '#') throw invalidInput('Choose an agent or a channel.', 'to')
  if (to.startsWith('@')) return { toKind: 'agent', toId: (await findAgent(account, to, 'to')).id }
  if (!to.startsWith('#')) throw notAnEnd('to', `an @alias, a #channel, ${senderKinds.join(', ')}`)
  const channel = await account.read.channels.byRef('', normaliseChannelName(to))
  if (!channel) throw new GridError('channel_not_found', `Channel '${to}' not found`, { field: 'to' })
  return { toKind: 'channel', toId: channel.id }
}

function notAnEnd(field: string, known: string): GridError {
  return invalidInput(`${field} is one of: ${known}.`, field)
}

async function guardrailOf(
  account: AccountStore,
  ref: string | null | undefined,
  before: string | null,
): Promise<string | null> {
  return typeof ref === 'string' ? (await findGuardrail(account, ref)).id : ref === undefined ? before : null
}

function mediaTypeOf(text: string | null | undefined, before: string | null): string | null {
  if (text === undefined) return before
  const mediaType = (text ?? '').trim().toLowerCase()
  if (mediaType === '') return null
  if (mediaType.length > maxMediaTypeLength || !/^[\x21-\x7e]+$/.test(mediaType)) {
    throw invalidInput('mediaType is the beginning of a media type, such as image/ or application/pdf.', 'mediaType')
  }
  return mediaType
}

async function decidersOf(account: AccountStore, refs: readonly string[]): Promise<string[]> {
  const members = await account.read.team.members()
  const ids = refs.map((ref) => {
    const member = members.find(({ userId, email }) => userId === ref || email === ref.trim().toLowerCase())
    if (member && member.role !== 'viewer') return member.userId
    throw invalidInput(`'${ref}' is not an owner, admin or member of the account.`, 'deciders')
  })
  return [...new Set(ids)].sort()
}

/** Requires the consent of a person whom the rule names, because others would see that person's messages. */
async function requireConsents(account: AccountStore, { fromId, toId, deciders }: ApprovalRule): Promise<void> {
  if (fromId === null && toId === null) return
  const exempt = await account.read.approvalRules.exemptIds(deciders)
  const id = [fromId, toId].find((id) => id !== null && exempt.includes(id))
  if (!id) return
  const person = await account.read.personAliases.holder(id)
  throw new GridError(
    'consent_required',
    `Others would decide about messages of ${
      person?.name || 'a person'
    }, who has not allowed that. Only they can, under Settings, Profile.`,
    { field: id === fromId ? 'from' : 'to' },
  )
}
