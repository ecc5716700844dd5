/** Idempotency keys: a retried send with the same key stores nothing. See docs/delivery.md, "Idempotency keys". */
import { GridError } from '../../errors.ts'
import { digestOf } from '../../lib/digest.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { BlockedError } from '../../store/account/verdicts.ts'
import type { A2aDetails, Concern, LeasePart, Sender, SendInput, SentMessage } from '../message/outgoing-message.ts'
import { ackAgain } from './acks.ts'
import { presenceAt } from './commit.ts'

export const keyLifetimeMs = 7 * day
const maxKeyLength = 200

/** A call's key, and the hash that a retry must match. Null and empty without a key. */
export interface Keyed {
  key: string | null
  requestHash: string
}

/** Stores a message's key. `findRepeat` explains a refusal by the send that was stored first. */
export const once: Concern = {
  plan: ({ account, message, draft }) =>
    message.key === null ? undefined : { statements: [account.change.messages.addKey(message, draft.requestHash)] },
}

function checkKey(key: string): string {
  if (key === '' || !hasAtMost(key, maxKeyLength) || wellFormed(key) !== key) {
    throw new GridError('invalid_input', `An idempotency key must have 1 to ${maxKeyLength} characters.`)
  }
  return key
}

/** Returns a call's key and the hash that a retry must match, if it has a key. Fails with `invalid_input`. */
export function keyOf(key: string | undefined, request: () => string): Keyed {
  return key === undefined ? { key: null, requestHash: '' } : { key: checkKey(key), requestHash: digestOf(request()) }
}

/** Returns the send that was already made under the key. `home` is the agent's account at that time, if different. */
export async function findRepeat(
  account: AccountStore,
  { agentId }: Sender,
  { key, requestHash }: Keyed,
): Promise<{ sent: SentMessage; home?: string } | undefined> {
  if (key === null) return undefined
  const earlier = await account.read.messages.byKey(agentId, key, account.deps.now() - keyLifetimeMs)
  if (!earlier) return undefined
  const { requestHash: first, error, home, receipt, sanitized, ...sent } = earlier
  if (first !== requestHash) {
    throw new GridError(
      'idempotency_conflict',
      'This idempotency key was used for other content. Use a new key for new content.',
    )
  }
  if (error !== null) {
    const { message, info } = JSON.parse(error) as BlockedError
    throw new GridError('guardrail_blocked', message, { info })
  }
  // An update of a task has no receipt.
  const stored: SendReceipt = JSON.parse(receipt ?? '{"unread":0}')
  return { sent: { ...sent, ...(sanitized && { sanitized }), ...stored }, home: home ?? undefined }
}

/** Returns the value that a retry of a send must equal: the caller's own value or the content. */
export function requestOf(
  { to, replyToMessageId, conversationId, expiresInSeconds, request }: SendInput,
  text: string,
  details: A2aDetails | undefined,
): string {
  const address = to.trim().toLowerCase().replace(/^@/, '')
  return request ?? JSON.stringify([address, text, replyToMessageId, conversationId, details, expiresInSeconds])
}

/** Returns a send that was already made under its key. Its `acks` are acked now, unless the first send did so. */
export async function repeated(account: AccountStore, sent: SentMessage, acks?: LeasePart): Promise<SentMessage> {
  if (acks) await ackAgain(account, acks)
  return await withPresence(account, sent)
}

/** Adds the recipient's current presence to the first send's receipt, for a retry. */
export async function withPresence(account: AccountStore, sent: SentMessage): Promise<SentMessage> {
  if (sent.recipientUnread === undefined) return sent
  const agent = await account.read.agents.byAlias(sent.recipient.slice(1))
  const recipientRemote = agent?.remote ? JSON.parse(agent.remote) : undefined
  return { ...sent, ...presenceAt(account, agent?.id, { ...sent, recipientRemote }) }
}
