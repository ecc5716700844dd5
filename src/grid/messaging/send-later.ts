/** Scheduled sends. See docs/delivery.md, "Sending later". */
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { day, isoTime, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { ScheduledMessage } from '../../store/account/scheduled.ts'
import { hasUploads } from '../message/parts.ts'
import type { Sender, SendInput } from '../message/outgoing-message.ts'
import { contentOf } from '../send/content.ts'
import { findRepeat } from '../send/once.ts'
import { resolve } from '../send/resolve.ts'
import { sendMessage } from './send-message.ts'

const maxAheadMs = 366 * day
const limits = { ofAgent: 100, ofAccount: 1_000, bytes: 32 * 1024 * 1024 }
/** Retry delay of a scheduled message after a temporary failure. */
const retryMs = minute

/** The content of a scheduled message, as its sender provided it. */
type ScheduledContent = Pick<
  SendInput,
  'to' | 'text' | 'replyToMessageId' | 'conversationId' | 'expiresInSeconds' | 'idempotencyKey' | 'parts' | 'choices'
>

export interface Scheduled {
  message_id: string
  recipient: string
  send_at: string
}

const isoWithZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i

/**
 * Returns the time of a scheduled send: ISO 8601, or a number of seconds from now. Fails with `invalid_input` unless it
 * is within the next year.
 */
export function timeToSend(given: string | number, now: number): number {
  const text = String(given).trim()
  const at = /^\d+$/.test(text) ? now + Number(text) * second : isoWithZone.test(text) ? Date.parse(text) : NaN
  if (at > now && at <= now + maxAheadMs) return at
  throw invalidInput(
    'send_at must be an ISO 8601 time with a zone, such as 2027-01-31T09:00:00Z, or a number of seconds from now; ' +
      'at most a year ahead.',
    'send_at',
  )
}

/**
 * Stores a message until its time. Recipient and content are checked now; quotas, guardrails and approval rules when it
 * is sent. Fails with `quota_exceeded` if too many are scheduled, `idempotency_conflict`, or as `sendMessage`.
 */
export async function sendLater(
  account: AccountStore,
  sender: Sender,
  input: ScheduledContent,
  sendAt: number,
): Promise<Scheduled> {
  const { agentId } = sender
  const { read, change, deps: { now } } = account
  const content = contentOf(input)
  if (content.details && hasUploads(content.details)) {
    throw invalidInput(
      'An uploaded file cannot be sent later. Send it now, or give its content as raw or url.',
      'parts',
    )
  }
  const { key, requestHash } = content
  const repeat = key === null ? undefined : await read.scheduled.byKey(agentId, key)
  if (repeat?.requestHash === requestHash) return asScheduled(repeat)
  if (repeat) {
    throw new GridError('idempotency_conflict', 'This idempotency key was used for other content. Use a new one.')
  }
  const sent = (await findRepeat(account, sender, content))?.sent
  if (sent) return asScheduled({ ...sent, sendAt: sent.createdAt })
  const { label } = await resolve(account, sender, input.to)
  account.requireSpace()
  const json = JSON.stringify(input)
  const message = {
    ...{ id: newId(), agentId, recipient: label, sendAt, createdAt: now(), requestHash, key },
    ...{ content: json, bytes: new TextEncoder().encode(json).length },
  }
  try {
    await account.write(change.scheduled.add(message, limits))
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    const waiting = await read.scheduled.waiting(agentId)
    const isFull = waiting.ofAgent >= limits.ofAgent || waiting.ofAccount >= limits.ofAccount ||
      waiting.bytes + message.bytes > limits.bytes
    if (!isFull) throw error
    throw new GridError(
      'quota_exceeded',
      `At most ${limits.ofAgent} messages of an agent and ${limits.ofAccount} of an account can be scheduled. ` +
        'Retract some, or send the rest later.',
    )
  }
  return asScheduled(message)
}

function asScheduled({ id, recipient, sendAt }: Pick<ScheduledMessage, 'id' | 'recipient' | 'sendAt'>): Scheduled {
  return { message_id: id, recipient, send_at: isoTime(sendAt) }
}

/** Retracts a scheduled message; undefined if none has this id. */
export async function retractScheduled(
  account: AccountStore,
  { agentId }: Sender,
  id: string,
): Promise<{ recipient: string } | undefined> {
  const { read, change } = account
  const found = await read.scheduled.byId(agentId, id)
  if (!found) return undefined
  await account.write([change.scheduled.require(agentId, id), change.scheduled.remove(agentId, id)])
  return found
}

/**
 * Sends a due message as the agent of `account`, exactly once, because its unit removes the schedule. If it is refused,
 * the sender gets a message with the reason.
 */
export async function sendScheduled(account: AccountStore, sender: Sender, id: string): Promise<void> {
  const { agentId } = sender
  const { change: { scheduled }, deps: { now } } = account
  const json = await account.read.scheduled.content(agentId, id)
  if (json === undefined) return
  const content: ScheduledContent = JSON.parse(json)
  try {
    await sendMessage(account, sender, {
      ...content,
      concern: {
        plan: () => ({
          preconditions: [scheduled.require(agentId, id)],
          statements: [scheduled.remove(agentId, id)],
          needsMessage: true,
          explain: () => stillWaits(account, agentId, id),
        }),
      },
    })
  } catch (error) {
    if (error instanceof Gone) return
    if (!(error instanceof GridError) || isPassing(error)) {
      await account.write([scheduled.postpone(agentId, id, now() + retryMs)])
      if (!(error instanceof GridError)) throw error
      return
    }
    const body = `Your scheduled message to ${content.to} was refused: ${error.message}`
    await account.write([
      scheduled.require(agentId, id),
      scheduled.remove(agentId, id),
      ...scheduled.notify({ id: newId(), from: agentId, to: agentId, body }, now()),
    ])
  }
}

/** Another process has sent the scheduled message, or its sender has retracted it. */
class Gone extends Error {}

async function stillWaits(account: AccountStore, agentId: string, id: string): Promise<void> {
  if (!await account.read.scheduled.byId(agentId, id)) throw new Gone()
}

function isPassing({ kind }: GridError): boolean {
  return kind === 'unavailable' || kind === 'internal'
}
