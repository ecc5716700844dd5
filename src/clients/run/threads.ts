import type { InboxMessage, MessageSummary } from '../grid-client.ts'

/** How messages are grouped. `thread`: the messages of one conversation; `batch`: all waiting messages. */
export type Per = 'thread' | 'batch'

/** Messages that are handled together, oldest first. */
export interface Thread {
  key: string
  messageIds: string[]
}

/** Maximum number of messages in a lease. */
const maxMessages = 50

/** The key of a message's thread: its conversation, otherwise its channel, otherwise its sender. */
function threadKey({ conversation_id, channel, user }: MessageSummary): string {
  if (conversation_id !== undefined) return `conversation ${conversation_id}`
  return channel !== undefined && channel !== 'direct' ? `channel ${channel}` : `agent ${user}`
}

/** The thread whose oldest message has waited longest. Skips threads for which `busy` returns true. */
export function nextThread(
  messages: readonly MessageSummary[],
  per: Per,
  busy: (key: string) => boolean,
): Thread | undefined {
  const keyOf = (message: MessageSummary) => per === 'batch' ? 'batch' : threadKey(message)
  const first = messages.find((message) => !busy(keyOf(message)))
  if (!first) return undefined
  const key = keyOf(first)
  const own = messages.filter((message) => keyOf(message) === key)
  return { key, messageIds: own.slice(0, maxMessages).map(({ message_id }) => message_id) }
}

/** Groups of messages that one answer can reply to. A batch may contain several threads. */
export function byThread(messages: readonly InboxMessage[]): InboxMessage[][] {
  const groups = new Map<string, InboxMessage[]>()
  for (const message of messages) {
    const key = threadKey(message)
    groups.set(key, [...groups.get(key) ?? [], message])
  }
  return [...groups.values()]
}
