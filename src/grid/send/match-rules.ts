/** Finds the approval rule of an account that holds a message. */
import type { AgentType } from '../../store/account/agents.ts'
import type { ActiveApprovalRule } from '../../store/account/approval-rules.ts'

/** A message from the point of view of one account's rules. */
export interface Candidate {
  /** The sender belongs to the rules' account. */
  isOwnSender: boolean
  /** The ids of the sender, and of the program that delivers text written elsewhere. */
  fromIds: readonly string[]
  /** The type of the program, if any, or of the sender. */
  fromType: AgentType
  /** Undefined for a channel. */
  toType?: AgentType
  /** The id of an agent or a channel. */
  toId: string
  isOwnRecipient: boolean
  isChannel: boolean
  /** The objections of this account's guardrails. */
  findings: readonly { guardrailId: string }[]
  parts: readonly { mediaType: string; bytes: number }[]
}

/** Returns the first rule that holds a message, or undefined. `rules` are an account's active ones, in their order. */
export function holdingRule(
  rules: readonly ActiveApprovalRule[],
  candidate: Candidate,
): ActiveApprovalRule | undefined {
  return rules.find((rule) =>
    isFrom(rule, candidate) && isTo(rule, candidate) && meets(rule, candidate) && !isExempt(rule, candidate)
  )
}

function isFrom({ fromKind, fromId }: ActiveApprovalRule, candidate: Candidate): boolean {
  const { isOwnSender, fromType } = candidate
  if (fromKind === 'agent') return isOwnSender && fromId !== null && candidate.fromIds.includes(fromId)
  if (fromKind === 'any') return !(isOwnSender && fromType === 'human')
  return isOfKind(fromKind, isOwnSender, fromType)
}

function isTo({ toKind, toId }: ActiveApprovalRule, candidate: Candidate): boolean {
  const { isOwnRecipient, isChannel, toType } = candidate
  if (toKind === 'any') return true
  if (toKind === 'channel') return isChannel && candidate.toId === toId
  if (isChannel) return false
  return toKind === 'agent' ? isOwnRecipient && candidate.toId === toId : isOfKind(toKind, isOwnRecipient, toType)
}

function isOfKind(kind: 'external' | 'people' | 'remote', isOwn: boolean, type?: AgentType): boolean {
  if (kind === 'external') return !isOwn
  return isOwn && type === (kind === 'people' ? 'human' : 'a2a')
}

function meets({ condition, guardrailId, mediaType, minBytes }: ActiveApprovalRule, candidate: Candidate): boolean {
  if (condition === 'finding') {
    return candidate.findings.some((finding) => guardrailId === null || finding.guardrailId === guardrailId)
  }
  if (condition === 'parts') {
    return candidate.parts.some((part) =>
      part.mediaType.toLowerCase().startsWith(mediaType ?? '') && part.bytes >= (minBytes ?? 0)
    )
  }
  return true
}

function isExempt({ exemptIds }: ActiveApprovalRule, { fromIds, toId }: Candidate): boolean {
  return fromIds.every((id) => exemptIds.includes(id)) || exemptIds.includes(toId)
}
