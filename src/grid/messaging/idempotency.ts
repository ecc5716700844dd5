/** Idempotency keys: the same key of the same agent is the same send. See docs/delivery.md, "Idempotency keys". */
import { GridError } from '../../errors.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { NewMessage } from '../../store/account/new-message.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { BlockedError } from '../../store/account/verdicts.ts'
import type { Draft, Sender, SendInput, SentMessage } from './outgoing-message.ts'
import type { SendPart } from './send-part.ts'

/** How long a key is remembered. */
export const keyLifetimeMs = 7 * day
const maxKeyLength = 200

/** Check a key and return it unchanged. Fails with `invalid_input`. */
export function checkKey(key: string): string {
  if (key === '' || !hasAtMost(key, maxKeyLength) || wellFormed(key) !== key) {
    throw new GridError('invalid_input', `An idempotency key has 1 to ${maxKeyLength} characters.`)
  }
  return key
}

/**
 * The send that was already made under its idempotency key, if it has one. Fails with `idempotency_conflict` if that send was another one, and with
 * `guardrail_blocked` if it was blocked.
 */
export async function findRepeat(
  account: AccountStore,
  sender: Sender,
  { key, requestHash }: Pick<Draft, 'key' | 'requestHash'>,
): Promise<SentMessage | undefined> {
  if (key === null) return undefined
  const earlier = await account.read.messages.byKey(sender.agentId, key, account.deps.now() - keyLifetimeMs)
  if (!earlier) return undefined
  if (earlier.requestHash !== requestHash) {
    throw new GridError(
      'idempotency_conflict',
      'This idempotency key was used for another message. Use a new key for new content.',
    )
  }
  if (earlier.error !== null) {
    const { message, info } = JSON.parse(earlier.error) as BlockedError
    throw new GridError('guardrail_blocked', message, { info })
  }
  const { id, recipient, conversationId, createdAt, hops, sanitized, receipt } = earlier
  return {
    id,
    recipient,
    conversationId,
    createdAt,
    hops,
    ...(sanitized && { sanitized }),
    ...await receiptOf(account, sender, receipt),
  }
}

/** A send that was stored by an older version has no receipt. */
async function receiptOf(account: AccountStore, sender: Sender, receipt: string | null): Promise<SendReceipt> {
  return receipt === null ? { unread: await account.read.inbox.unread(sender.agentId) } : JSON.parse(receipt)
}

/** The hash that a repeat must match: of `request` if the caller gave one, otherwise of the content of the send. */
export function requestHashOf({ to, text, replyToMessageId, conversationId, a2a, request }: SendInput): string {
  if (request !== undefined) return hashForLookup(request)
  const address = to.trim().toLowerCase().replace(/^@/, '')
  return hashForLookup(JSON.stringify([address, text, replyToMessageId, conversationId, a2a]))
}

/** Remembers the key of a message. */
export function keyPart({ change }: AccountStore, message: NewMessage, requestHash: string): SendPart {
  return message.key === null ? {} : { statements: [change.messages.addKey(message, requestHash)] }
}
