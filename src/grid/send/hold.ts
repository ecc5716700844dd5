/** Decides whether a message must wait for a person. See docs/protocol/messages.md, "Held messages". */
import { newId } from '../../lib/id.ts'
import { day, isoTime } from '../../lib/time.ts'
import type { AccountStore, Guarding } from '../../store/account.ts'
import { recipientHolds, senderHolds } from '../../store/account/guarding.ts'
import type { HoldingRule, NewHeld } from '../../store/account/new-held.ts'
import type { GuardFinding } from '../../store/account/new-message.ts'
import type { Statement } from '../../store/sql.ts'
import { bytesOf } from '../message/given-parts.ts'
import type { OutgoingMessage, Review } from '../message/outgoing-message.ts'
import { holdingRule } from './match-rules.ts'

/** Lifetime of a message held by a guardrail. */
const guardrailHoldMs = day

/**
 * Returns the review of a message that a rule or guardrail of either account holds; the sender's account comes first.
 * `decided`: in how many of the two accounts people have already decided. Messages from the grid itself are never held.
 */
export async function holdOf(outgoing: OutgoingMessage, before: Review, decided = 0): Promise<Review | undefined> {
  const { account, recipient: { inbox }, draft: { message } } = outgoing
  if (message.type === 'system') return undefined
  const own = { guarding: account.guarding(), bit: senderHolds }
  const sides = inbox?.home === undefined
    ? [own]
    : [own, { guarding: account.guarding(inbox.home), bit: recipientHolds }]
  const { deliveries, receipt, findings, statements } = before.guarded ??
    { deliveries: [], receipt: {}, findings: [], statements: [] }
  for (const { guarding, bit } of sides.slice(decided)) {
    const held = await holdIn(outgoing, findings, guarding, bit)
    if (!held) continue
    const by = guarding.isOwn ? await account.read.held.deciders(held.rule, message.from) : []
    const told = { ...receipt, held: { by, until: held.expiresAt } }
    return { held, guarded: { deliveries, receipt: told, findings, statements } }
  }
  return undefined
}

export function waitsUntil(expiresAt: number): string {
  return `The message waits until ${isoTime(expiresAt)} for the approval of a person.`
}

/** Announces a message in a task to the task's client, without changing the task. */
export function notifyClient({ change }: AccountStore, task: string, reason: string, at: number): Statement[] {
  return (['submitted', 'working'] as const).flatMap((state) =>
    change.tasks.change({ end: 'grid' }, { task, event: newId(), at, state, from: [state], reason })
  )
}

async function holdIn(
  { sender, recipient, draft: { message, details } }: OutgoingMessage,
  found: readonly GuardFinding[],
  guarding: Guarding,
  bit: number,
): Promise<Omit<NewHeld, 'later'> | undefined> {
  const { agentId, program } = sender
  const findings = found.filter(({ isOwn }) => isOwn === guarding.isOwn)
  const hold = await ruleOf(findings)
  if (!hold) return undefined
  const { rule, expiresMs } = hold
  return {
    id: newId(),
    ...!guarding.isOwn && { heldIn: recipient.inbox?.home },
    toId: recipient.id,
    rule,
    findings: findings.map(({ guardrail, kinds }) => ({ guardrail, kinds })),
    sentAt: message.at,
    expiresAt: Math.min(message.at + expiresMs, message.expiresAt ?? Infinity),
  }

  async function ruleOf(findings: GuardFinding[]): Promise<{ rule: HoldingRule; expiresMs: number } | undefined> {
    const rules = (recipient.guards & bit) === 0 ? [] : await guarding.approvalRules()
    if (rules.length > 0) {
      const isOwnRecipient = !guarding.isOwn || recipient.inbox?.home === undefined
      const found = holdingRule(rules, {
        isOwnSender: guarding.isOwn,
        fromIds: program === undefined ? [agentId] : [agentId, program],
        fromType: guarding.isOwn ? await guarding.typeOf(program ?? agentId) ?? 'mcp' : 'mcp',
        toType: recipient.inbox && isOwnRecipient ? await guarding.typeOf(recipient.id) : undefined,
        toId: recipient.id,
        isOwnRecipient,
        isChannel: !recipient.inbox,
        findings,
        parts: partsIn(details?.parts ?? []),
      })
      if (found) {
        const { id, name, deciders, isRisky, expiresMs } = found
        return { rule: { id, name, deciders, isRisky }, expiresMs }
      }
    }
    const names = findings.filter(({ holds }) => holds).map(({ guardrail }) => guardrail)
    if (names.length === 0) return undefined
    const name = [...new Set(names)].join(', ')
    return { rule: { id: null, name, deciders: [], isRisky: false }, expiresMs: guardrailHoldMs }
  }
}

/** Returns a message's content other than its text. */
function partsIn(parts: readonly unknown[]): { mediaType: string; bytes: number }[] {
  return (parts as Record<string, unknown>[]).flatMap((part) => {
    const { text, data, url, mediaType, filename, bytes } = part
    if (typeof text === 'string' && mediaType === undefined && filename === undefined) return []
    const usual = text !== undefined
      ? 'text/plain'
      : data !== undefined
      ? 'application/json'
      : url !== undefined
      ? 'text/uri-list'
      : 'application/octet-stream'
    return [{ mediaType: String(mediaType ?? usual), bytes: typeof bytes === 'number' ? bytes : bytesOf(part) }]
  })
}
