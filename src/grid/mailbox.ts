/** Reading: what waits in the calling agent's own mailbox is handed out once. */
import { callingAgent } from '../auth/actor.ts'
import { newId } from '../lib/id.ts'
import type { AccountStore } from '../store/account.ts'
import type { Budget, Mail } from '../store/account/mailbox.ts'
import { cursorAt } from './cursor.ts'

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
  /** Names what was handed out, for `giveBack`; undefined when nothing was. */
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
 * into `maxChars`. An empty mailbox writes nothing. Who cannot pass the batch on
 * gives it back; what fails here after the commit has been given back.
 *
 * Spec: "Grid message". Fails with `wrong_credential`.
 */
export async function readMessages(account: AccountStore, input: PageSize): Promise<Batch> {
  const { agentId } = callingAgent(account.actor)
  const { mailbox } = account.read
  const first = await mailbox.firstUnread(agentId)
  const budget = budgetOf(input)
  if (!first || first.chars > budget.maxOne) {
    return {
      messages: [],
      remaining: first ? await mailbox.unread(agentId) : 0,
      cursor: cursorAt(account, agentId, await mailbox.lastRead(agentId)),
      ...(first && { tooLong: first.chars }),
    }
  }

  const batch = newId()
  const [, counted] = await account.write([
    account.change.mailbox.claim(agentId, batch, budget, account.deps.now()),
    account.change.mailbox.countUnread(agentId),
  ])
  try {
    const mail = await mailbox.batch(agentId, batch)
    const last = mail.length > 0 ? mail[mail.length - 1].seq : await mailbox.lastRead(agentId)
    return {
      messages: mail.map(asGridMessage),
      remaining: Number(counted[0].unread),
      cursor: cursorAt(account, agentId, last),
      ...(mail.length > 0 && { handOut: batch }),
    }
  } catch (error) {
    await giveBack(account, batch)
    throw error
  }
}

/**
 * Put a hand-out back that reached nobody: its messages are unread again and come flagged `redelivered`.
 * Never fails; what could not be put back is in the log, and `since` still finds it. Reliability 2.2.3.
 */
export async function giveBack(account: AccountStore, handOut: string): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  try {
    await account.write([account.change.mailbox.giveBack(agentId, handOut)])
    account.waiting.wakes.wake([agentId])
  } catch (error) {
    account.deps.log.warn('A hand-out that reached nobody was not given back', { error, handOut })
  }
}

/** The limits of one answer: the caller's, within ours. */
export function budgetOf({ limit = maxBatch, maxChars }: PageSize): Budget {
  return {
    limit: Math.max(1, Math.min(limit, maxBatch)),
    maxChars: Math.min(maxChars ?? maxBatchChars, maxBatchChars),
    maxOne: maxChars ?? Number.MAX_SAFE_INTEGER,
  }
}

/** A message as its recipient sees it. */
export function asGridMessage(mail: Mail): GridMessage {
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
    ...(mail.flagged && { flagged: true as const }),
    ...(mail.a2a !== null && { a2a: mail.a2a }),
  }
}
