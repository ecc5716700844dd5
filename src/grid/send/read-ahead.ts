/** What a send reads before its unit. */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { RepliedTo, Sender, SendInput } from '../messaging/outgoing-message.ts'
import { requireHeld } from './acks.ts'
import { keyOf, keyOfId } from './in-turn.ts'
import { findRepeat, type Keyed } from './once.ts'
import { labelOf, resolve } from './resolve.ts'

/** It begins together, so that a remote database is asked once. It is to be awaited in the order of the refusals. */
export function readAhead(account: AccountStore, sender: Sender, input: SendInput, keyed: Keyed) {
  const named = input.a2a?.contextId ?? input.conversationId
  const reading = {
    repeat: findRepeat(account, sender, keyed),
    acks: input.acks && requireHeld(account, input.acks),
    recipient: resolve(account, sender, input.to),
    repliedTo: messageRepliedTo(account, sender, input.replyToMessageId),
    // The conversation of a reply is that of the message, unless it is named.
    turns: account.actor.type === 'agent' && input.replyToMessageId === undefined
      ? account.read.turns.of(keyOf(sender.alias, labelOf(input.to)), named === undefined ? null : keyOfId(named))
      : undefined,
  }
  // One that fails is no unhandled rejection, also if an earlier one fails before it is awaited.
  for (const read of Object.values(reading)) read?.catch(() => {})
  return reading
}

/** The message that a message replies to. Fails with `message_not_found`. */
async function messageRepliedTo(
  { read }: AccountStore,
  { agentId }: Sender,
  id: string | undefined,
): Promise<RepliedTo | undefined> {
  if (id === undefined) return undefined
  const message = await read.inbox.received(agentId, id) ?? await read.messages.sent(id, agentId)
  if (message) return message
  throw new GridError('message_not_found', 'reply_to_message_id: you have neither sent nor received that message.')
}
