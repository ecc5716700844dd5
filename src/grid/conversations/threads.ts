/**
 * The conversations of an account, as its people see them: threads, their messages, what became of each message, and
 * chains of replies. Reading here changes nothing for an agent. Nothing here decides who may read; callers pass `since`.
 * See docs/architecture.md, "Projections".
 */
import type { AccountStore } from '../../store/account.ts'

export type ThreadKind = 'channel' | 'conversation' | 'pair'

/** Which threads a list shows. */
export interface ThreadFilter {
  /** Threads of this agent: those it wrote or was written to in, and the channels it is a member of. */
  agentId?: string
  /** Only channels. */
  channels?: boolean
  /** Only threads in which the newest message to one of the agents is unread; with `agentId`, to that agent. */
  waiting?: boolean
}

/** One of the two agents of a thread. */
export interface ThreadAgent {
  id: string
  /** Without `@`. */
  alias: string
  /** It belongs to another account. */
  isForeign: boolean
}

/** A thread in a list. Times are milliseconds since the epoch. */
export interface Thread {
  id: number
  kind: ThreadKind
  /** The channel; null for the other kinds. */
  channel: { id: string; name: string; isDeleted: boolean } | null
  /** The conversation id; null for the other kinds. */
  conversationId: string | null
  /** Its first two agents; none for a channel. */
  agents: ThreadAgent[]
  lastSeq: number
  lastAt: number
  messages: number
  /** Its newest message. */
  preview: { fromAlias: string; type: 'agent' | 'human' | 'system'; text: string }
  /** The user has looked at it up to this message; 0 for never. */
  seenSeq: number
  /** Unread messages of the seat of the user in it, up to 100; 0 without a seat. */
  unread: number
}

/** How a list is read. `userId` fills `seenSeq` and `unread`. */
export interface ThreadList extends ThreadFilter {
  userId?: string
  /** Threads with a message since this time; 0 for all. */
  since?: number
  /** Continue after a page: its `next`. */
  before?: number
}

export interface ThreadListPage {
  threads: Thread[]
  /** Pass it as `before`; undefined at the end. */
  next?: number
}

/** A message in a thread. */
export interface ThreadMessage {
  seq: number
  id: string
  threadId: number
  /** The first message of its chain; its own `seq` if it replies to nothing that is left. */
  rootSeq: number
  fromAgentId: string
  fromAlias: string
  /** Its sender belongs to another account. */
  isForeign: boolean
  type: 'agent' | 'human' | 'system'
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  /** A message of another account is shown as it was delivered. */
  body: string
  /** JSON text of its A2A fields, which may be damaged; null for most messages. */
  a2a: string | null
  conversationId: string | null
  replyToMessageId: string | null
  flagged: boolean
  sanitized: boolean
  hops: number
  createdAt: number
}

/**
 * Where a page begins: the newest messages; those before or after a message, without it; those from a time on; or those
 * around a message, with it. Messages are named by their `seq`.
 */
export type ThreadPosition =
  | { newest: true }
  | { before: number }
  | { after: number }
  | { at: number }
  | { around: number }

export interface ThreadPage {
  /** Oldest first, at most 50. */
  messages: ThreadMessage[]
  hasOlder: boolean
  hasNewer: boolean
}

/** What became of a message at one recipient. */
export interface Receipt {
  seq: number
  agentId: string
  /** Null for an agent of another account: it is the `recipient` of the message. */
  alias: string | null
  /** `leased`: a reader has it and has not taken it for sure. */
  state: 'unread' | 'leased' | 'read' | 'parked'
  storedAt: number
  wokenAt: number | null
  /** When it was leased last, or parked. */
  readAt: number | null
  /** How many leases of it were released. */
  releaseCount: number
  /** When this recipient first replied to it in the account; null if it has not. */
  repliedAt: number | null
}

/** A message of a chain with its replies, oldest first. */
export interface ChainMessage extends ThreadMessage {
  replies: ChainMessage[]
}

/** Threads, the newest first, 50 at a time. */
export declare function listThreads(account: AccountStore, list: ThreadList): Promise<ThreadListPage>

/** One thread; undefined if the account has none of this id. */
export declare function findThread(account: AccountStore, id: number, userId?: string): Promise<Thread | undefined>

/** Whether an agent takes part in a thread: it wrote or was written to, or it is a member of the channel. */
export declare function isInThread(account: AccountStore, id: number, agentId: string): Promise<boolean>

/** A page of a thread. `since`: no messages from before this time; 0 for all. */
export declare function readThread(
  account: AccountStore,
  id: number,
  position: ThreadPosition,
  since?: number,
): Promise<ThreadPage>

/** The message with this `seq` or id and its thread in this account; undefined if it is not there (yet). */
export declare function findMessage(
  account: AccountStore,
  message: { seq: number } | { id: string },
): Promise<ThreadMessage | undefined>

/** What became of messages of this account and of those delivered to it, by the `seq` of the messages: 50 at most. */
export declare function receiptsOf(account: AccountStore, seqs: number[]): Promise<Map<number, Receipt[]>>

/** All messages that have this root, over all threads, as a tree. At most 1,000 messages. */
export declare function readChain(
  account: AccountStore,
  rootSeq: number,
  since?: number,
): Promise<ChainMessage | undefined>

/** Record that the user has looked at a thread up to a message. With a smaller `seq` it is unseen from there on again. */
export declare function setSeen(account: AccountStore, userId: string, threadId: number, seq: number): Promise<void>

/** How many messages of an agent are unread in a thread, up to 100, and the `seq` of the oldest of them. */
export declare function unreadIn(
  account: AccountStore,
  threadId: number,
  agentId: string,
): Promise<{ unread: number; firstSeq: number | null }>
