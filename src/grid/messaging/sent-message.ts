/** The response to a send. See docs/protocol/mcp.md, "send_message". */
import { isoTime } from '../../lib/time.ts'
import { howToAnswer } from './inbox-message.ts'
import type { SentMessage } from '../message/outgoing-message.ts'
import { turnsNote } from './turns.ts'

/** Returns the response over MCP and REST. */
export function asSentAnswer(sent: SentMessage) {
  // An answer ends its task, possibly only after a person's approval, so its task is not reported as open.
  const openTask = sent.taskId === undefined && !sent.held && sent.openTask || undefined
  const notes = notesOf(sent, openTask)
  return {
    message_id: sent.id,
    timestamp: isoTime(sent.createdAt),
    recipient: sent.recipient,
    unread: sent.unread,
    ...(sent.sanitized && { sanitized: true as const }),
    ...(sent.turns !== undefined && { turns: sent.turns }),
    ...(sent.recipientUnread !== undefined && {
      recipient_presence: sent.recipientPresence,
      recipient_last_seen: sent.recipientSeenAt == null ? null : isoTime(sent.recipientSeenAt),
      recipient_unread: sent.recipientUnread,
    }),
    ...(sent.recipientInbox && { recipient_inbox: sent.recipientInbox }),
    ...(sent.recipients !== undefined && {
      recipients: sent.recipients,
      recipients_active: sent.recipientsActive,
      ...(sent.recipientsWoken !== sent.recipients && { recipients_woken: sent.recipientsWoken }),
    }),
    ...(sent.leftOut !== undefined && { left_out: sent.leftOut }),
    ...(sent.redacted && { redacted: sent.redacted }),
    // The message waits for a person's decision and is not delivered yet.
    ...(sent.held && { held: { by: sent.held.by, until: isoTime(sent.held.until) } }),
    // The message was the answer to this task, which is now completed.
    ...(sent.taskId !== undefined && { task_id: sent.taskId }),
    ...(openTask && { open_task: openTask }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

/** Returns notes for the sender, in sentences. */
function notesOf({ turns, recipient, recipientInbox }: SentMessage, openTask: string | undefined): string[] {
  const notes: string[] = []
  if (turns !== undefined) notes.push(turnsNote(turns))
  if (openTask !== undefined) notes.push(`Your task from ${recipient} is still open. ${howToAnswer}`)
  if (recipientInbox) {
    const { unread, max } = recipientInbox
    const state = unread >= max
      ? 'is full now, and refuses further messages'
      : `is ${Math.floor(unread / max * 100)} % full`
    notes.push(`The inbox of ${recipient} ${state}.`)
  }
  return notes
}
