/**
 * Sends a message to an agent or a channel, with the features enabled on this grid. See docs/architecture.md, "The path
 * of a send".
 */
import type { AccountStore } from '../../store/account.ts'
import { concernsWith } from '../send/concerns.ts'
import { guarded } from '../send/guarded.ts'
import { held } from '../send/held.ts'
import { send } from '../send/send.ts'
import type { Sender, SendInput, SentMessage } from '../message/outgoing-message.ts'

const concerns = concernsWith({ guarded, held })

/**
 * Puts a message from `sender`, an agent of the account, into the inbox of another agent, or of every other member of a
 * channel. On return the message is on disk, and the lease in `acks` is acked in the same unit. A retry with the same
 * idempotency key stores nothing and returns the first result. See docs/delivery.md, "Sending".
 *
 * Fails with `lease_not_found`, `stale_lease`, `invalid_input`, `message_too_long`, `recipient_not_found`,
 * `channel_not_found`, `not_channel_member`, `message_not_found` (the message that it replies to), `part_not_found`,
 * `idempotency_conflict`, `trial_expired`, `unavailable`, `storage_full`, `quota_exceeded`, `guardrail_blocked`,
 * `guardrail_unavailable` or `conversation_paused`.
 */
export async function sendMessage(account: AccountStore, sender: Sender, input: SendInput): Promise<SentMessage> {
  return await send(account, sender, input, input.concern ? [...concerns, input.concern] : concerns)
}
