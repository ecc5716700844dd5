/** Delivers a held message that a person has approved. The rules at the time of delivery apply. */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Decided } from '../../store/account/held-changes.ts'
import type { ReviewedMessage } from '../../store/account/new-message.ts'
import { checkGuardrails } from '../message/check-guardrails.ts'
import type { A2aDetails, Draft, Recipient, Sender, TaskStep } from '../message/outgoing-message.ts'
import { asGiven, asStored } from '../message/long-text.ts'
import { splitDetails } from '../message/parts.ts'
import { quotasOf, refuseFullInbox } from '../message/quota.ts'
import { isFromA2a } from '../message/shown-parts.ts'
import { messageOf } from '../send/compose.ts'
import { checkText } from '../send/content.ts'
import { delivery } from '../send/delivers.ts'
import { refusePaused } from '../send/in-turn.ts'
import { resolve } from '../send/resolve.ts'
import { wholeDetails } from '../tasks/shown-task.ts'
import { isBareText } from '../message/part.ts'
import { refuseEnded, taskNotFound } from '../tasks/tasks.ts'
import { saidStep } from '../tasks/update-task.ts'
import type { FoundHeld } from './held.ts'
import type { HeldContent } from './held-content.ts'
import { holdOf, notifyClient, waitsUntil } from '../send/hold.ts'

/** `held`: the people of the recipient's account must also decide. */
export interface Delivered {
  state: 'approved' | 'held'
}

/**
 * Delivers a held message in the unit that records the decision. `text` replaces its text. Fails like a send that the
 * recipient does not accept, and with `write_conflict` if another decision was made first.
 */
export async function deliverHeld(
  account: AccountStore,
  found: FoundHeld,
  decided: Decided,
  text?: string,
): Promise<Delivered> {
  const { held, content } = found
  const from = account.ofSender(held)
  if (held.fromAliasNow === null) throw new GridError('agent_not_found', 'The sender of this message was deleted.')
  const sender = { agentId: held.fromAgentId, alias: held.fromAliasNow, program: await programOf(from, held) }
  const recipient = await resolve(from, sender, content.recipient)
  if (recipient.id !== held.toId) {
    const kind = content.recipient.startsWith('#') ? 'channel' : 'agent'
    throw new GridError('recipient_not_found', `${content.recipient} is another ${kind} now.`)
  }
  const outgoing = { account: from, sender, recipient, draft: draftOf(sender, content, decided, text) }
  await refusePaused(outgoing, messageOf(outgoing.draft, {}, content.later))
  await refuseFullInbox(from, recipient)
  const step = await stepOf(from, sender, content)
  const checked = recipient.guards === 0 ? {} : await checkGuardrails(outgoing)
  // The sender's account decides first, so a decision in that account is the first of two.
  const again = await holdOf(outgoing, checked, held.home === account.owner ? 1 : 2)
  const message = messageOf(outgoing.draft, { ...checked, ...again }, content.later)
  return await commit({ account, from, found, decided, recipient, message, step })
}

async function programOf(
  from: AccountStore,
  { via, toId, fromAgentId }: FoundHeld['held'],
): Promise<string | undefined> {
  if (via !== 'slack') return undefined
  const post = { channelId: toId, agentId: fromAgentId }
  const found = await Promise.all(from.hooks.map(({ programOf }) => programOf?.(from, post)))
  return found.find((program) => program !== undefined)
}

/** Returns the text and the details as the sender gave them. */
export function givenOf({ body, a2a, parts }: HeldContent): ReturnType<typeof asGiven> {
  return asGiven(body, a2a === null ? undefined : wholeDetails(a2a, parts))
}

/** Returns the draft of the message as it would be sent now. */
function draftOf({ agentId }: Sender, content: HeldContent, { at }: Decided, text: string | undefined): Draft {
  const { a2a, later, messageId: id, replyToMessageId, conversationId, parts } = content
  const { hops, flagged, sanitized, sharedWith, via, type, recipient } = content
  const given = givenOf(content)
  const isEdited = text !== undefined
  const cleaned = isEdited ? checkText(text).text : given.text
  const details = isEdited && given.details ? withText(given.details, a2a, cleaned) : given.details
  const stored = asStored(cleaned, details)
  const split = isEdited && stored.details ? splitDetails(id, { ...stored.details }) : undefined
  const message = {
    ...{ id, from: agentId, type, recipient, body: stored.body },
    ...{ replyToMessageId, conversationId, hops, flagged },
    ...{ sanitized, sharedWith, via, key: null, keysSince: 0, replyFrom: null, at },
    ...{ contextId: later.contextId, expiresAt: later.expiresAt },
    // Unused: the stored message keeps its `traceparent`.
    traceparent: null,
    a2a: isEdited ? split ? JSON.stringify(split.inline) : null : a2a,
    largeParts: partsAsJson(isEdited ? split?.apart ?? [] : parts),
  }
  return { text: cleaned, details, requestHash: '', message }
}

/** Replaces the text among the parts of an A2A message, because these contain the text too. */
function withText(details: A2aDetails, a2a: string | null, text: string): A2aDetails {
  if (!details.parts || !isFromA2a(a2a)) return details
  const others = details.parts.filter((part) => !isBareText(part as Parameters<typeof isBareText>[0]))
  return { ...details, parts: [{ text }, ...others] }
}

function partsAsJson(parts: readonly unknown[]): string | null {
  return parts.length === 0 ? null : JSON.stringify(parts)
}

/** Returns the effect of the message on its task. Fails with `unsupported_operation` if the task has ended. */
async function stepOf(
  from: AccountStore,
  sender: Sender,
  { later: { taskId, step } }: HeldContent,
): Promise<TaskStep | undefined> {
  if (taskId === null) return undefined
  const task = await from.read.tasks.of(step ? 'recipient' : 'client', sender.agentId, taskId)
  if (!task) throw taskNotFound(taskId)
  refuseEnded(task)
  return step && saidStep(from, sender, task, step)
}

interface Delivery {
  account: AccountStore
  from: AccountStore
  found: FoundHeld
  decided: Decided
  recipient: Recipient
  message: ReviewedMessage
  step: TaskStep | undefined
}

async function commit(
  { account, from, found: { held, content: { parts, later } }, decided, recipient, message, step }: Delivery,
): Promise<Delivered> {
  const { change } = from
  const { id, body, a2a, flagged, sharedWith, at, taskId, largeParts } = message
  const { edited } = decided
  const text = { body, a2a, flagged, sharedWith, edited }
  const open = step?.open?.(id)
  const told = taskId !== null && !step
    ? notifyClient(
      from,
      taskId,
      message.held ? waitsUntil(message.held.expiresAt) : 'A person approved the message.',
      at,
    )
    : []
  const unit = [
    ...account.change.held.decide(held.id, decided),
    recipient.requireOpen(message, quotasOf(from, recipient.inbox)),
    ...open ? [open] : [],
    // Replaces the stored parts only if an edit or a guardrail's mask has changed them.
    ...largeParts === partsAsJson(parts) ? [] : [change.held.removeParts(id), change.parts.add(message)],
    ...message.held
      ? [
        change.held.change(id, text),
        ...change.held.add({ ...message.held, later, sentAt: held.sentAt }, id, at),
      ]
      : change.held.number(id, text, at),
    ...told,
    // The findings for an unchanged text were recorded when the message was held, so they are not recorded again.
    ...message.guarded && (edited || !await hasVerdicts(from, id)) ? message.guarded.statements : [],
  ]
  if (!message.held) {
    unit.push(...delivery(from, recipient, message), ...step?.statements(message) ?? [])
  }
  await account.write(unit)
  return { state: message.held ? 'held' : 'approved' }
}

async function hasVerdicts({ read }: AccountStore, message: string): Promise<boolean> {
  return (await read.verdicts.ofMessage(message, 1)).length > 0
}
