/** The conversations of an account: threads and their participants. Nothing here decides who may read. */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { StoredThread } from '../../store/account/threads.ts'

export type ThreadKind = 'channel' | 'conversation' | 'pair'

interface ThreadFilter {
  /** Threads of this agent: those with messages from or to it, and its channels. */
  agentId?: string
  /** Threads of the live agent with this alias. */
  alias?: string
  /** Threads of the user's person alias. */
  isOfUser?: boolean
  channels?: boolean
  /** Only threads whose newest message to an agent is unread. With `agentId`, only messages to that agent count. */
  waiting?: boolean
  /** Only threads where each of the first two names is part of an agent's alias or the channel's name. */
  names?: readonly string[]
}

export interface ThreadAgent {
  id: string
  alias: string
  isForeign: boolean
  /** Whether the agent was deleted from this account. Its alias may now belong to someone else. */
  isDeleted: boolean
  /** Whether the agent is an incoming hook, which can only send. */
  isHook: boolean
}

/** The beginning of a message. Null if the newest message of the thread was just removed. */
type ThreadPreview = { fromAlias: string; type: 'agent' | 'human' | 'system'; text: string } | null

export interface Thread {
  id: number
  kind: ThreadKind
  channel: { id: string; name: string; isDeleted: boolean } | null
  conversationId: string | null
  /** The first agents, at most three (three means more than two). Empty for a channel. */
  agents: ThreadAgent[]
  lastSeq: number
  lastAt: number
  messages: number
  preview: ThreadPreview
  /** The `seq` of the last message that the user has seen; 0 for none. */
  seenSeq: number
  /** The number of unread messages to the user's person alias, at most 100; 0 without an alias. */
  unread: number
  /** The `seq` of the first unread message; null if there is none. */
  firstUnread: number | null
}

interface ThreadList extends ThreadFilter {
  userId?: string
  since?: number
  before?: number
}

interface ThreadListPage {
  threads: Thread[]
  next?: number
}

const pageSize = 20

export async function listThreads(account: AccountStore, list: ThreadList): Promise<ThreadListPage> {
  const { agentId, alias, isOfUser, waiting, channels, names = [], userId } = list
  const { since = 0, before = Number.MAX_SAFE_INTEGER } = list
  const [found, unread] = await Promise.all([
    account.read.threads.list(
      { agentId, alias, isOfUser, isWaiting: waiting },
      { user: userId ?? '', names, before, since, isChannel: channels ?? false, limit: pageSize + 1 },
    ),
    unreadOf(account, userId),
  ])
  const threads = found.slice(0, pageSize).map((thread) => shown(thread, unread))
  return { threads, ...(found.length > pageSize && { next: threads[pageSize - 1].lastSeq }) }
}

export async function findThread(account: AccountStore, id: number, userId?: string): Promise<Thread | undefined> {
  const [found, unread] = await Promise.all([
    account.read.threads.byId(id, userId ?? ''),
    unreadOf(account, userId),
  ])
  return found && shown(found, unread)
}

/** Returns the thread with a stored key; undefined if it has no messages. */
export async function threadOf(
  account: AccountStore,
  of: Pick<StoredThread, 'kind' | 'key'>,
  userId?: string,
): Promise<Thread | undefined> {
  const [found, unread] = await Promise.all([
    account.read.threads.byKey(of, userId ?? ''),
    unreadOf(account, userId),
  ])
  return found && shown(found, unread)
}

export function unknownConversation(): GridError {
  return new GridError('conversation_not_found', 'This conversation does not exist, or its messages are gone.')
}

/** Records the last message of a thread that the user has seen. A smaller `seq` makes later ones unseen. */
export async function setSeen(account: AccountStore, userId: string, threadId: number, seq: number): Promise<void> {
  await account.write([account.change.threads.setSeen(userId, threadId, seq)])
}

type UnreadThreads = Map<number, { unread: number; firstSeq: number }>

async function unreadOf(account: AccountStore, userId: string | undefined): Promise<UnreadThreads> {
  if (userId === undefined) return new Map()
  const found = await account.read.threads.unreadOfPersonAlias(userId)
  return new Map(found.map(({ threadId, ...unread }) => [threadId, unread]))
}

interface StoredPreview {
  fromAlias: string
  fromAgentId: string
  type: 'agent' | 'human' | 'system'
  recipient: string
  text: string
}

function shown(thread: StoredThread, unread: UnreadThreads): Thread {
  const { id, kind, key, lastSeq, lastAt, messages, seenSeq } = thread
  const preview: StoredPreview | null = thread.preview === null ? null : JSON.parse(thread.preview)
  return {
    id,
    kind,
    channel: kind === 'channel' ? { id: key, name: thread.channel ?? '', isDeleted: thread.deletedAt !== null } : null,
    conversationId: kind === 'conversation' ? key.slice(key.indexOf('/') + 1) : null,
    agents: kind === 'channel' ? [] : agentsOf(thread, preview),
    lastSeq,
    lastAt,
    messages,
    preview: preview && { fromAlias: preview.fromAlias, type: preview.type, text: preview.text },
    seenSeq,
    unread: unread.get(id)?.unread ?? 0,
    firstUnread: unread.get(id)?.firstSeq ?? null,
  }
}

/** Returns a thread's agents. For an agent of another account, takes the alias from the newest message. */
function agentsOf({ kind, key, agents }: StoredThread, preview: StoredPreview | null): ThreadAgent[] {
  const own =
    (JSON.parse(agents) as { id: string; alias: string; isDeleted: number; isMoved: number; isHook: number }[])
      .map(({ id, alias, isDeleted, isMoved, isHook }): ThreadAgent => ({
        ...{ id, alias, isForeign: isMoved === 1, isDeleted: isDeleted === 1 && isMoved === 0, isHook: isHook === 1 },
      }))
  const named = kind === 'pair' ? key.split(' ') : [key.slice(0, key.indexOf('/'))]
  const external = named.find((id) => id !== '' && !own.some((agent) => agent.id === id))
  if (external === undefined || preview === null) return own
  const alias = preview.fromAgentId === external ? preview.fromAlias : preview.recipient.replace(/^@/, '')
  return [own[0], { id: external, alias, isForeign: true, isDeleted: false, isHook: false }].filter((agent) =>
    agent !== undefined
  )
}
