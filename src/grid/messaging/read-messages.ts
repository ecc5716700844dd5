/** Reading: what waits in the calling agent's own mailbox is handed out once. */
import { callingAgent } from '../../auth/actor.ts'
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Mail } from '../../store/account/inbox-message.ts'
import { cursorAt } from './cursor.ts'
import { type Damaged, giveBackUnknown, handedOver, park } from './leases.ts'

/** Most messages of one hand-out. */
export const maxBatch = 50
/** How many of a sender's skills a message names: a stranger does not fill the reader's context with them. */
const maxSenderSkills = 10
/** Longest text and A2A parts of one hand-out, in UTF-16 units, so at most 240 kB as UTF-8; one message always fits. */
const maxBatchChars = 80_000

/** One message as its recipient sees it. Spec: "Grid message"; the further fields only where they apply. */
export interface GridMessage {
  message_id: string
  /** `direct`, or `#name`. */
  channel: string
  /** The sender's alias with `@`. */
  user: string
  type: 'agent' | 'human' | 'system'
  message: string
  /** What to pass as `send_message.to` to answer. */
  reply_to: string
  timestamp: string
  reply_to_message_id?: string
  conversation_id?: string
  senderDescription?: string
  senderSkills?: string[]
  /** The sender signed up by itself and nobody has claimed it. */
  unverified?: true
  /** Handed out before, and given back because the answer failed. */
  redelivered?: true
  /** Handed out before, and shown again on request. */
  replayed?: true
  flagged?: true
  a2a?: unknown
}

export interface Batch {
  messages: GridMessage[]
  /** How many more wait. */
  remaining: number
  /** The place of the last message handed out, for reading again later. Opaque. */
  cursor: string
  /** The length of the message that is next, when it alone is longer than `maxChars`. */
  tooLong?: number
  /** Names what was handed out, for `handedOver` or `giveBack`; undefined when nothing was. */
  handOut?: string
}

/** How much one answer may hold. */
export interface PageSize {
  /** Messages; at most 50, which is the default. */
  limit?: number
  /** Length of the messages together, in UTF-16 units, whole messages only. Without it, one always fits. */
  maxChars?: number
}

/**
 * Hand out the oldest unread messages of the calling agent and mark them read, in
 * the order of storing: at most `limit`, and not more than fit into one answer or
 * into `maxChars`. An empty mailbox writes nothing. Who passes the batch on says
 * `handedOver`, who cannot says `giveBack`; when the process dies before, it is given back.
 * `wokenAt` is when a wait for it ended.
 *
 * A message that cannot be shown is parked, and the rest is handed out.
 *
 * Spec: "Grid message". Fails with `wrong_credential`.
 */
export async function readMessages(account: AccountStore, input: PageSize, wokenAt?: number): Promise<Batch> {
  const { agentId } = callingAgent(account.actor)
  const { mailbox, handOuts } = account.read
  const budget = budgetOf(input)
  for (;;) {
    const oldest = await mailbox.oldestUnread(agentId, budget.limit)
    const taken = fitting(oldest, budget)
    if (taken.length === 0) {
      const [first] = oldest
      return {
        messages: [],
        remaining: first ? await mailbox.unread(agentId) : 0,
        cursor: cursorAt(account, agentId, await mailbox.lastRead(agentId)),
        ...(first && { tooLong: first.chars }),
      }
    }

    const [batch, at] = [newId(), account.deps.now()]
    const { change } = account
    const [, , claimed] = await account.write([
      change.handOuts.claim(agentId, batch, taken.map(({ seq }) => seq), at, wokenAt ?? null),
      change.handOuts.open(agentId, batch, account.instanceId, at),
      change.handOuts.batch(agentId, batch, taken.length),
    ]).catch((error) => giveBackUnknown(account, batch, error))
    const { mail, remaining = await mailbox.unread(agentId) } = handOuts.batch(claimed)
    const { messages, damaged } = rendered(mail)
    if (damaged.length > 0) await park(account, batch, damaged)
    const isHandOut = messages.length > 0
    if (mail.length > 0 && !isHandOut) handedOver(account, batch)
    // What was set aside, or what another reader was quicker to take, does not make a mailbox empty.
    if (!isHandOut && remaining > 0) continue
    return {
      messages,
      remaining,
      cursor: cursorAt(account, agentId, mail.at(-1)?.seq ?? await mailbox.lastRead(agentId)),
      ...(isHandOut && { handOut: batch }),
    }
  }
}

/** Each message by itself: what cannot be shown of one does not keep the others back. */
export function rendered(
  mail: Mail[],
  show: (one: Mail) => GridMessage = asGridMessage,
): { messages: GridMessage[]; damaged: Damaged[] } {
  const messages: GridMessage[] = []
  const damaged: Damaged[] = []
  for (const one of mail) {
    try {
      messages.push(show(one))
    } catch (error) {
      damaged.push({ mail: one, error })
    }
  }
  return { messages, damaged }
}

/** What fits into one answer; lengths in UTF-16 units. The first message alone may be as long as `maxOne`. */
export interface Budget {
  limit: number
  maxChars: number
  maxOne: number
}

/** The limits of one answer: the caller's, within ours. */
export function budgetOf({ limit = maxBatch, maxChars }: PageSize): Budget {
  return {
    limit: Math.max(1, Math.min(limit, maxBatch)),
    maxChars: Math.min(maxChars ?? maxBatchChars, maxBatchChars),
    maxOne: maxChars ?? Number.MAX_SAFE_INTEGER,
  }
}

/** The messages from the beginning that fit, whole. */
export function fitting<Sized extends { chars: number }>(mail: Sized[], { limit, maxChars, maxOne }: Budget): Sized[] {
  let total = 0
  const end = mail.findIndex(({ chars }, n) => {
    total += chars
    return n === limit || (total > maxChars && (n > 0 || total > maxOne))
  })
  return end === -1 ? mail : mail.slice(0, end)
}

/** A message as its recipient sees it. Throws when its row is damaged. */
export function asGridMessage(mail: Mail): GridMessage {
  if (typeof mail.body !== 'string') throw new TypeError('The body is not text')
  const isPost = mail.recipient.startsWith('#')
  const user = `@${mail.fromAlias}`
  const skills = (JSON.parse(mail.senderSkills) as { name: string }[]).map((skill) => skill.name)
    .slice(0, maxSenderSkills)
  return {
    message_id: mail.id,
    channel: isPost ? mail.recipient : 'direct',
    user,
    type: mail.type,
    message: mail.body,
    reply_to: isPost ? mail.recipient : user,
    timestamp: new Date(mail.createdAt).toISOString(),
    ...(mail.replyToMessageId && { reply_to_message_id: mail.replyToMessageId }),
    ...(mail.conversationId && { conversation_id: mail.conversationId }),
    ...(mail.senderDescription && { senderDescription: mail.senderDescription }),
    ...(skills.length > 0 && { senderSkills: skills }),
    ...(mail.senderState === 'provisional' && { unverified: true as const }),
    ...(mail.returned > 0 && { redelivered: true as const }),
    ...(mail.flagged !== 0 && { flagged: true as const }),
    ...(mail.a2a !== null && { a2a: JSON.parse(mail.a2a) }),
  }
}
