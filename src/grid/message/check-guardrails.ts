/** Checks a message with the guardrails of its sender, then of its recipients. */
import { GridError } from '../../errors.ts'
import { digestOf } from '../../lib/digest.ts'
import { newId } from '../../lib/id.ts'
import { once } from '../../lib/lazy.ts'
import type { Guarding } from '../../store/account.ts'
import { type ActiveGuardrail, recipientIsGuarded, senderIsGuarded } from '../../store/account/guarding.ts'
import type { ChangedDelivery, GuardedSend, GuardFinding } from '../../store/account/new-message.ts'
import type { NewVerdict, VerdictAction } from '../../store/account/verdicts.ts'
import { askGuardrails, type Asking, blocked, type Finding, isRefused, kindsOf, unavailable } from './ask-guardrails.ts'
import { type GuardedContent, guardedContent, hashOf, type MessageContent } from './guarded-text.ts'
import type { A2aDetails, OutgoingMessage, Review } from './outgoing-message.ts'
import { asStored } from './long-text.ts'
import { splitDetails } from './parts.ts'
import { countMessage } from './quota.ts'
import { withContents } from './uploads.ts'
import { changedDeliveries, redactedContent } from './redacted.ts'

interface Findings {
  guarding: Guarding
  content: GuardedContent
  found: Finding[]
  hash: string
  /** The hosts of the services that got the text of a person's alias. */
  sharedWith: string[]
  /** Whether the people of the account may see the texts that its guardrails block. */
  keepsContents: boolean
}

/** Returns the changes that guardrails make to a draft. Fails with `guardrail_blocked` or `guardrail_unavailable`. */
export async function checkGuardrails(outgoing: OutgoingMessage): Promise<Review> {
  const { deps } = outgoing.account
  const deadline = once(() => AbortSignal.timeout(deps.guardrailChecks.timeoutMs))
  const asking = { deps, deadline }
  return await checkRecipients(outgoing, await checkSender(outgoing, asking), asking)
}

interface Checked {
  review: Review
  content: MessageContent
  guarded?: GuardedContent
  outbound?: Findings
}

async function checkSender(outgoing: OutgoingMessage, asking: Omit<Asking, 'guarding'>): Promise<Checked> {
  const { account, sender, recipient, draft: { message, text, details, continues } } = outgoing
  const { conversationId } = message
  const content: MessageContent = {
    body: text,
    ...(details && { details: await withContents(account, sender, present(details), message.id) }),
    continues,
    ...(conversationId !== null && conversationId !== details?.contextId && { conversationId }),
  }
  if ((recipient.guards & senderIsGuarded) === 0) return { review: {}, content }

  const guarding = account.guarding()
  const guarded = guardedContent(content)
  const guardrails = guarding.read.ofAgent(sender.program ?? sender.agentId, 'outbound')
  const outbound = await ask(outgoing, guardrails, guarded, { ...asking, guarding }, 'outbound')
  await refuse(outgoing, outbound)
  const left = applied(outgoing, { review: {}, content }, outbound)
  return { ...left, ...(left.content === content && { guarded }), outbound }
}

async function checkRecipients(
  outgoing: OutgoingMessage,
  sent: Checked,
  asking: Omit<Asking, 'guarding'>,
): Promise<Review> {
  const { account, sender, recipient, draft: { message } } = outgoing
  if ((recipient.guards & recipientIsGuarded) === 0) return withVerdicts(outgoing, sent.review, [sent.outbound])

  const guarding = account.guarding(recipient.inbox?.home)
  const content = sent.guarded ?? guardedContent(sent.content)
  const guardrails = recipient.inbox
    ? guarding.read.ofAgent(recipient.id, 'inbound')
    : guarding.read.ofMembers(recipient.id, sender.agentId)
  const inbound = await ask(outgoing, guardrails, content, { ...asking, guarding }, 'inbound')
  if (recipient.inbox) {
    await refuse(outgoing, inbound)
    return withVerdicts(outgoing, applied(outgoing, sent, inbound).review, [sent.outbound, inbound])
  }
  const { id, body, a2a } = message
  const post = { id, body, a2a, ...sent.review }
  const deliveries = await changedDeliveries(post, sent.content, content.text, inbound.found)
  return withVerdicts(outgoing, sent.review, [sent.outbound, inbound], deliveries)
}

/** Returns the findings of one side's guardrails, except those with an exception for exactly this text. */
async function ask(
  { sender, recipient }: Pick<OutgoingMessage, 'sender' | 'recipient'>,
  pages: AsyncIterable<ActiveGuardrail[]>,
  content: GuardedContent,
  asking: Asking,
  direction: 'inbound' | 'outbound',
): Promise<Findings> {
  const { guarding } = asking
  const addressed = { direction, sender: `@${sender.alias}`, recipient: recipient.label }
  const found: Finding[] = []
  const sharedWith: string[] = []
  for await (const guardrails of pages) {
    const objections = await askGuardrails(guardrails, content, addressed, asking)
    // Leaves out findings that lie only in the continued text, because they were decided earlier.
    found.push(...objections.filter(({ spans }) => spans.length === 0 || spans.some(({ end }) => end > content.start)))
    if (content.fits) sharedWith.push(...guardrails.flatMap(({ sharedWith }) => sharedWith ?? []))
  }
  // Most messages have no findings, so this data is read only here.
  if (found.length === 0) return { guarding, content, found, sharedWith, hash: '', keepsContents: false }
  const hash = hashOf(content)
  const { keepsContents, allowedBy } = await guarding.read.aboutText(hash)
  const objections = found.filter(({ guardrail }) => !allowedBy.has(guardrail.id)).sort(byName)
  return { guarding, content, found: objections, sharedWith, hash, keepsContents }
}

function byName({ guardrail: a }: Finding, { guardrail: b }: Finding): number {
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1
}

function applied(
  { draft: { message } }: OutgoingMessage,
  { review, content }: Checked,
  { content: { text }, found }: Findings,
): Checked {
  if (found.length === 0) return { review, content }
  const redactions = found.filter(({ action }) => action === 'redacted')
  if (redactions.length === 0) return { review: { ...review, flagged: true }, content }
  const redacted = redactedContent(content, text, redactions)
  const { body, details } = asStored(redacted.body, redacted.details)
  const split = details && splitDetails(message.id, { ...details })
  const { conversationId } = { ...message, ...review }
  const isContext = conversationId !== null && conversationId === content.details?.contextId
  const named = isContext ? String(redacted.details!.contextId) : redacted.conversationId
  return {
    review: {
      flagged: true,
      body,
      conversationId: named ?? conversationId,
      a2a: split ? JSON.stringify(split.inline) : null,
      largeParts: split?.apart.length ? JSON.stringify(split.apart) : null,
    },
    content: redacted,
  }
}

/** Maximum hosts in the message's list of services that received its text. */
const maxHosts = 3

function withVerdicts(
  outgoing: OutgoingMessage,
  review: Review,
  sides: (Findings | undefined)[],
  deliveries: ChangedDelivery[] = [],
): Review {
  const hosts = [...new Set(sides.flatMap((side) => side?.sharedWith ?? []))]
  if (hosts.length > maxHosts) hosts.splice(maxHosts, hosts.length, 'others')
  const shared = hosts.length > 0 && { sharedWith: hosts.join(', ') }
  const found = sides.filter((side) => side !== undefined && side.found.length > 0) as Findings[]
  if (found.length === 0) return { ...review, ...shared }
  const judged = judgedOf(outgoing, true)
  const verdictsOf = (isOwn: boolean) => found.filter(({ guarding }) => guarding.isOwn === isOwn)
  const statements = (sides: Findings[]) =>
    sides.length === 0 ? [] : sides[0].guarding.verdicts(judged, sides.flatMap((side) => newVerdicts(side)))
  const leftOut = deliveries.reduce((sum, { agentIds, copy }) => copy ? sum : sum + agentIds.length, 0)
  // In a channel, recipients' guardrails mask only single members' copies, which the receipt does not report.
  const everybody = outgoing.recipient.inbox ? found : found.filter(({ guarding }) => guarding === sides[0]?.guarding)
  const redacted = kindsOf(everybody.flatMap((side) => side.found).filter(({ action }) => action === 'redacted'))
  const guarded: GuardedSend = {
    deliveries,
    findings: found.flatMap((side) => findingsOf(side)),
    receipt: { ...(leftOut > 0 && { leftOut }), ...(redacted.length > 0 && { redacted }) },
    statements: [...statements(verdictsOf(true)), ...statements(verdictsOf(false))],
  }
  return { ...review, ...shared, guarded }
}

/** Returns the findings without blocks and failures, which here only exclude single members of a channel. */
function findingsOf({ guarding: { isOwn }, found }: Findings): GuardFinding[] {
  return found.filter(({ action }) => action !== 'blocked' && action !== 'failed').map((
    { guardrail, action, kinds },
  ) => (
    { isOwn, guardrailId: guardrail.id, guardrail: guardrail.name, kinds, holds: action === 'held' }
  ))
}

function judgedOf({ sender, recipient, draft: { message } }: OutgoingMessage, isStored: boolean) {
  const { id, at, conversationId } = message
  const conversationHash = conversationId === null ? null : digestOf(conversationId)
  return { id, recipient: recipient.label, at, senderAlias: sender.alias, conversationHash, isStored }
}

/** Fails if one side refuses. A block is stored with the idempotency key; after a failure, a retry asks again. */
async function refuse(outgoing: OutgoingMessage, side: Findings): Promise<void> {
  const { guarding, found } = side
  if (!isRefused(found)) return
  const { account, recipient, draft: { message, requestHash } } = outgoing
  const action: VerdictAction = found.some(({ action }) => action === 'blocked') ? 'blocked' : 'failed'
  const decisive = found.filter((finding) => finding.action === action)
  const { isOwn } = guarding
  const cases = guarding.verdicts(judgedOf(outgoing, false), newVerdicts(side, decisive))
  if (action === 'failed') {
    account.writeLater(cases)
    throw unavailable(decisive, isOwn, recipient.label)
  }
  const error = blocked(decisive, isOwn, recipient.label)
  const key = message.key === null ? [] : [account.change.verdicts.addBlockedSend(message, requestHash, error)]
  // A blocked message counts against the quotas, because it costs the recipient as much as a delivered one.
  await guarding.write([...cases, ...countMessage(account, recipient, message, 0), ...key])
  throw new GridError('guardrail_blocked', error.message, { info: error.info })
}

/** Returns one row per guardrail and action, for all its agents. */
function newVerdicts(side: Findings, found = side.found): NewVerdict[] {
  const verdicts = new Map<string, NewVerdict & { agentIds: string[] }>()
  for (const { guardrail, action, kinds, failure = null } of found) {
    const key = `${guardrail.id} ${action}`
    const known = verdicts.get(key)
    if (known) known.agentIds.push(...guardrail.agentIds)
    else {
      verdicts.set(key, {
        id: newId(),
        guardrailId: guardrail.id,
        guardrailName: guardrail.name,
        direction: guardrail.direction,
        action,
        kinds,
        agentIds: [...guardrail.agentIds],
        textHash: side.hash,
        content: action === 'blocked' ? keptText(side) : null,
        failure,
      })
    }
  }
  return [...verdicts.values()]
}

/** Returns a blocked message's text for people, if they may see it, with other guardrails' redactions applied. */
function keptText({ content: { text }, found, keepsContents }: Findings): string | null {
  if (!keepsContents) return null
  const redactions = found.filter(({ action }) => action === 'redacted')
  return redactions.length === 0 ? text : redactedContent({ body: text }, text, redactions).body
}

function present(details: A2aDetails): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined))
}
