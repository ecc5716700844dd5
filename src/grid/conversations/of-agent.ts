/** What an agent said and heard last, as the calling user may see it. See docs/security.md, "Who reads messages". */
import type { AccountStore } from '../../store/account.ts'
import { type Reader, readerOf } from './may-read.ts'
import { findMessages } from './messages.ts'
import { type OpenMessage, readable } from './open.ts'
import { recordReading } from './readings.ts'
import { listThreads, type Thread } from './threads.ts'

/** How many messages of an agent are shown, and how many of those whom it talks with. */
const maxMessages = 10
const maxTalks = 12

/** A message with its conversation. */
export interface AgentMessage extends OpenMessage {
  thread: Thread
}

export interface AgentTalk {
  reader: Reader
  /** Those of its 10 newest messages that the reader may read, oldest first. */
  messages: AgentMessage[]
  /** How many of them are left out. */
  hidden: number
  /** Its newest conversations. Their texts are left out. */
  talks: Thread[]
}

/**
 * The newest messages from or to an agent, those of its channels too, and with whom it talks. It counts as no look at
 * their conversations. Fails as `readerOf` and `recordReading` do.
 */
export async function talkOfAgent(
  account: AccountStore,
  agent: { id: string; alias: string },
  { requestId }: { requestId: string | null },
): Promise<AgentTalk> {
  const reader = await readerOf(account)
  const { threads } = await listThreads(account, { agentId: agent.id, userId: reader.userId })
  // The newest messages are in the newest threads.
  const newest = new Map(threads.slice(0, maxMessages).map((thread) => [thread.id, thread]))
  const seqs = await Promise.all([...newest.keys()].map((id) => {
    return account.read.threadMessages.around(id, Number.MAX_SAFE_INTEGER, 0, maxMessages, 0)
  }))
  const found = await findMessages(account, seqs.flat().sort((a, b) => b - a).slice(0, maxMessages))
  const opened = await Promise.all([...newest.values()].map(async (thread) => {
    const messages = found.filter(({ threadId }) => threadId === thread.id)
    return (await readable(account, reader, thread, messages, null)).map((message) => ({ ...message, thread }))
  }))
  const messages = opened.flat().sort((a, b) => a.seq - b.seq)
  if (messages.some(({ isMine }) => !isMine)) await recordReading(account, { agent: agent.alias }, requestId)
  return {
    reader,
    messages,
    hidden: found.length - messages.length,
    talks: threads.slice(0, maxTalks).map((thread) => ({ ...thread, preview: null })),
  }
}
