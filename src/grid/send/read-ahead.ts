/** The data that a send reads before its unit. */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { RepliedTo, Sender, SendInput } from '../message/outgoing-message.ts'
import { requireHeld } from './acks.ts'
import { readTurns } from './in-turn.ts'
import { findRepeat, type Keyed } from './once.ts'
import { resolve } from './resolve.ts'

/**
 * Starts all reads together, so that a remote database is queried only once. Await the results in the order in which
 * they may refuse.
 */
export function readAhead(account: AccountStore, sender: Sender, input: SendInput, keyed: Keyed) {
  const reading = {
    repeat: findRepeat(account, sender, keyed),
    acks: input.acks && requireHeld(account, input.acks),
    recipient: resolve(account, sender, input.to),
    repliedTo: messageRepliedTo(account, sender, input.replyToMessageId),
    turns: account.actor.type === 'agent' ? readTurns(account, sender, input) : undefined,
  }
  // A failed read must not cause an unhandled rejection, even if an earlier read fails before it is awaited.
  for (const read of Object.values(reading)) read?.catch(() => {})
  return reading
}

/** Returns the message that the new one replies to. Fails with `message_not_found`. */
async function messageRepliedTo(
  { read }: AccountStore,
  { agentId }: Sender,
  id: string | undefined,
): Promise<RepliedTo | undefined> {
  if (id === undefined) return undefined
  const [received, sent] = await Promise.all([read.inbox.received(agentId, id), read.messages.sent(id, agentId)])
  const message = received ?? sent
  if (message) return message
  throw new GridError('message_not_found', 'reply_to_message_id: you have neither sent nor received that message.')
}
