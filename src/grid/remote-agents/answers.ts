/** Stores a remote agent's answers as messages of that agent. */
import { GridError } from '../../errors.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { hasAtMost } from '../../lib/text.ts'
import type { RemoteAnswer } from '../../remote/client.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import { type A2aDetails, maxMessageLength } from '../message/outgoing-message.ts'
import { sendMessage } from '../messaging/send-message.ts'
import type { Part } from '../message/part.ts'
import { asPart, isBareText, textOf } from '../message/part.ts'
import { updateTask } from '../tasks/update-task.ts'
import type { Attempt } from '../outboxes/attempt.ts'

/** Maximum length of a remote agent's text in a message's timeline. */
const maxReason = 200
/** How a task without a result is reported to the message's sender. */
const endings = { failed: 'It failed.', rejected: 'It rejected the message.', canceled: 'It canceled its work.' }
const noText = 'This message has no text.'
/** Temporary errors, after which the answer is stored later. */
export const temporary: readonly GridError['code'][] = [
  'unavailable',
  'storage_full',
  'guardrail_unavailable',
  'write_conflict',
]

/**
 * Sends the remote agent's answer, question or failure to the message's sender. Resolves to null, or to the reason why
 * the sender did not get it. Safe to repeat.
 */
export async function deliverAnswer(
  attempt: Attempt,
  message: InboxMessage,
  { state, parts: given }: RemoteAnswer,
): Promise<string | null> {
  const parts = given.flatMap(usable)
  const text = cleaned(textOf(parts))
  if (isEnding(state) && message.taskId === null) return await notifyOfFailure(attempt, message, endings[state], text)
  const { account } = attempt
  const idempotencyKey = `${state}:${message.id}`
  return await unlessRefused(async () => {
    if (message.taskId !== null && state !== 'completed') {
      await updateTask(account, { taskId: message.taskId, state, parts, idempotencyKey })
    } else {
      await sendMessage(account, account.actor, {
        to: message.recipient.startsWith('#') ? message.recipient : `@${message.fromAlias}`,
        text: text || noText,
        replyToMessageId: message.id,
        idempotencyKey,
        ...(isWholeText(parts, text) ? {} : { a2a: { messageId: message.id, parts } satisfies A2aDetails }),
      })
    }
  })
}

/**
 * Notifies the sender that a message has no answer, and why. The remote agent's own words, `said`, are sent as a
 * separate message. Resolves to the reason shown to people.
 */
export async function notifyOfFailure(
  { account, system }: Attempt,
  message: InboxMessage,
  reason: string,
  said = '',
): Promise<string> {
  const { alias } = account.actor
  const text = `@${alias} did not receive or answer your message. ${reason}`
  const idempotencyKey = `failed:${message.id}`
  const refused = await unlessRefused(async () => {
    if (message.taskId !== null) {
      await updateTask(account, { taskId: message.taskId, state: 'failed', text: said || text, idempotencyKey })
    } else if (!message.recipient.startsWith('#')) {
      const reply = { to: `@${message.fromAlias}`, replyToMessageId: message.id }
      if (said !== '') {
        const words = { ...reply, text: said, idempotencyKey: `said:${message.id}` }
        // A guardrail may block the remote agent's words, so the notice contains none of them.
        await unlessRefused(async () => void await sendMessage(account, account.actor, words))
      }
      await sendMessage(system, account.actor, { ...reply, text, idempotencyKey })
    }
  })
  return refused ?? (said === '' ? reason : `${reason} "${said.slice(0, maxReason)}"`)
}

/** Resolves to the error text if the send is refused, because a retry would be refused again; otherwise to null. */
async function unlessRefused(send: () => Promise<void>): Promise<string | null> {
  try {
    await send()
    return null
  } catch (error) {
    if (!(error instanceof GridError) || temporary.includes(error.code)) throw error
    // An earlier attempt stored the answer.
    return error.code === 'idempotency_conflict' ? null : error.message
  }
}

function isEnding(state: RemoteAnswer['state']): state is keyof typeof endings {
  return state in endings
}

/** Returns the part if the grid can store it, otherwise an empty list. */
function usable(given: Record<string, unknown>): Part[] {
  try {
    return [asPart(given)]
  } catch {
    return []
  }
}

function isWholeText(parts: readonly Part[], text: string): boolean {
  return parts.every(isBareText) && hasAtMost(text, maxMessageLength)
}

function cleaned(text: string): string {
  return withoutInvisible(text.replaceAll('\0', '').toWellFormed())
}
