/** Holds a message that a person must approve before delivery. See docs/protocol/messages.md, "Held messages". */
import { holdOf, notifyClient, waitsUntil } from './hold.ts'
import type { Concern } from '../message/outgoing-message.ts'

export const held: Concern = {
  review: (outgoing, before) => outgoing.recipient.guards === 0 ? undefined : holdOf(outgoing, before),
  plan({ account, message, step }) {
    if (!message.held) return undefined
    const { id, at, taskId, isInTaskAlone, expiresAt, contextId, held } = message
    const later = { taskId, isInTaskAlone, expiresAt, contextId, ...step?.later && { step: step.later } }
    const notified = step && !step.later ? notifyClient(account, step.taskId, waitsUntil(held.expiresAt), at) : []
    return { statements: [...account.change.held.add({ ...held, later }, id, at), ...notified] }
  },
}
