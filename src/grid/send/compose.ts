/** Composes a message's draft: its content and its place in a conversation. */
import type { Actor } from '../../auth/actor.ts'
import { newId } from '../../lib/id.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { MessageType, NewMessage, ReviewedMessage } from '../../store/account/new-message.ts'
import { asStored } from '../message/long-text.ts'
import type { Draft, RepliedTo, Review, Sender, SendInput } from '../message/outgoing-message.ts'
import { splitDetails } from '../message/parts.ts'
import type { Content } from './content.ts'
import { withUploads } from './files.ts'
import { hopsOf } from './in-turn.ts'
import { keyLifetimeMs } from './once.ts'

/** The author shown with a message: the caller, not the sending agent. Keys and OAuth clients count as programs. */
const messageTypes: Record<Actor['type'], MessageType> = {
  agent: 'agent',
  admin: 'agent',
  user: 'human',
  system: 'system',
}

/** Composes the draft of a message. Fails with `part_not_found` or `invalid_input`, or if `answered` fails. */
export async function compose(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  { text, key, requestHash, sanitized, ...content }: Content,
  recipient: string,
  answered: Promise<RepliedTo | undefined>,
): Promise<Draft> {
  const details = await withUploads(account, sender, content.details)
  const repliedTo = await answered
  const { actor, trace: { spans } } = account
  if (repliedTo) spans?.follow(repliedTo)
  const type = messageTypes[actor.type]
  const at = account.deps.now()
  const id = newId()
  const stored = asStored(text, details)
  const split = stored.details && splitDetails(id, { ...stored.details })
  return {
    text,
    details,
    continues: input.continues,
    requestHash,
    repliedTo,
    message: {
      id,
      from: sender.agentId,
      type,
      recipient,
      body: stored.body,
      replyToMessageId: input.replyToMessageId ?? null,
      conversationId: input.conversationId ?? repliedTo?.conversationId ?? null,
      a2a: split ? JSON.stringify(split.inline) : null,
      flagged: false,
      sanitized,
      sharedWith: null,
      via: input.via ?? null,
      key,
      keysSince: at - keyLifetimeMs,
      largeParts: split?.apart.length ? JSON.stringify(split.apart) : null,
      hops: type === 'agent' && sender.program === undefined ? input.hops ?? hopsOf(sender, repliedTo, details) : 0,
      replyFrom: repliedTo?.type === 'agent' ? repliedTo.fromAlias : null,
      contextId: details?.contextId ?? null,
      expiresAt: input.expiresInSeconds === undefined ? null : at + input.expiresInSeconds * second,
      traceparent: spans?.traceparent ?? null,
      at,
    },
  }
}

/** Returns the message as it will be stored. `task` is the task that it belongs to, if any. */
export function messageOf(
  { message }: Draft,
  review: Review,
  task?: Pick<NewMessage, 'taskId' | 'isInTaskAlone'>,
): ReviewedMessage {
  return { ...message, ...review, taskId: task?.taskId ?? null, isInTaskAlone: task?.isInTaskAlone ?? false }
}
