/**
 * A send is a list of concerns (`concerns.ts`). Each concern is a file with one `plan`: its additions to the message's
 * unit, its conditions, and how it explains its refusals. The statements of the unit are in the order of the list.
 *
 * 1. resolve: all reads before the unit, started together;
 * 2. compose: the draft, made once;
 * 3. review: the changes of guardrails and rules to the draft; only this step may use the network;
 * 4. commit: the message from draft, review and task, and the parts of all concerns, as one unit;
 * 5. explain: if a condition of the unit did not hold, nothing is stored. `findRepeat` and `resolve` read again, then
 *    each concern gives its reason. If all conditions hold now, the send restarts at 3.
 */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Concern, OutgoingMessage, Review, Sender, SendInput, SentMessage } from '../message/outgoing-message.ts'
import { answeredTask } from './answers.ts'
import { commit } from './commit.ts'
import { compose, messageOf } from './compose.ts'
import { contentOf } from './content.ts'
import { findRepeat, repeated } from './once.ts'
import { readAhead } from './read-ahead.ts'
import { resolve } from './resolve.ts'

/** How often a commit is tried if its conditions change between reading and writing. */
const maxAttempts = 3

/** Sends a message, see `sendMessage`. */
export async function send(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  concerns: readonly Concern[],
): Promise<SentMessage> {
  const content = contentOf(input)
  const reading = readAhead(account, sender, input, content)
  const repeat = await reading.repeat
  if (repeat) return await repeated(account, repeat.sent, input.acks)
  account.requireSpace()
  await reading.acks

  let recipient = await reading.recipient
  const draft = await compose(account, sender, input, content, recipient.label, reading.repliedTo)
  let reviewed = await review({ account, sender, recipient, draft }, concerns)
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const step = input.task ?? await answeredTask(account, sender, recipient, draft.repliedTo)
    const message = messageOf(draft, reviewed, step)
    const turns = attempt === 1 ? reading.turns : undefined
    const sending = { account, sender, input, recipient, draft, message, step, turns }
    const parts = []
    for (const concern of concerns) {
      const part = await concern.plan(sending)
      if (part) parts.push(part)
    }
    const sent = await commit(sending, parts)
    if (sent) return sent

    const stored = await findRepeat(account, sender, content)
    if (stored) return await repeated(account, stored.sent)
    const before = recipient
    recipient = await resolve(account, sender, input.to)
    for (const part of parts) await part.explain?.()
    // The draft was reviewed for a different recipient or with other guardrails, so it is reviewed again.
    if (recipient.id !== before.id || recipient.guards !== before.guards) {
      reviewed = await review({ account, sender, recipient, draft }, concerns)
    }
  }
  throw new GridError('unavailable', 'The grid changed while this message was sent. Send it again.', {
    retryAfterSeconds: 1,
  })
}

async function review(outgoing: OutgoingMessage, concerns: readonly Concern[]): Promise<Review> {
  let review: Review = {}
  for (const concern of concerns) {
    if (concern.review) review = { ...review, ...await concern.review(outgoing, review) }
  }
  return review
}
