/** Whether a change makes an approval rule stricter, so that a program may make it. */
import type { ApprovalRule } from '../../store/account/approval-rules.ts'

interface Place {
  /** Its sender is the alias of a person, whom `any` leaves out. */
  isFromPerson: boolean
  /** A rule after it is in force. What this one holds in addition could be what the later one gives to other people. */
  hasLater: boolean
}

/** True if `after` surely holds all that `before` holds, for the same people and no longer. */
export function isTightening(before: ApprovalRule, after: ApprovalRule, { isFromPerson, hasLater }: Place): boolean {
  const isSame = after.name === before.name && `${after.deciders}` === `${before.deciders}`
  const isAsStrict = after.expiresMs <= before.expiresMs && after.enabled >= before.enabled &&
    after.isRisky >= before.isRisky
  const holdsAll = isFromAll(before, after, isFromPerson) && isToAll(before, after) && meetsAll(before, after)
  const holdsMore = !isFromAll(after, before, isFromPerson) || !isToAll(after, before) || !meetsAll(after, before) ||
    after.enabled !== before.enabled
  return isSame && isAsStrict && holdsAll && !(holdsMore && hasLater)
}

/** The senders of `wide` include those of `narrow`. */
function isFromAll(narrow: ApprovalRule, wide: ApprovalRule, isFromPerson: boolean): boolean {
  if (wide.fromKind === narrow.fromKind && wide.fromId === narrow.fromId) return true
  return wide.fromKind === 'any' && narrow.fromKind !== 'people' && !(narrow.fromKind === 'agent' && isFromPerson)
}

function isToAll(narrow: ApprovalRule, wide: ApprovalRule): boolean {
  return wide.toKind === 'any' || (wide.toKind === narrow.toKind && wide.toId === narrow.toId)
}

function meetsAll(narrow: ApprovalRule, wide: ApprovalRule): boolean {
  if (wide.condition === 'always') return true
  if (wide.condition !== narrow.condition) return false
  if (wide.condition === 'finding') return wide.guardrailId === null || wide.guardrailId === narrow.guardrailId
  return (narrow.mediaType ?? '').startsWith(wide.mediaType ?? '') && (wide.minBytes ?? 0) <= (narrow.minBytes ?? 0)
}
