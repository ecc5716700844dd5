/** Who sends how much to whom in an account, and no text. See docs/operating.md, "Network". */
import { networkTables } from './store.ts'
import { day, hour, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { mayRead, placeOf, type Reader, readerOf } from '../../grid/conversations/may-read.ts'
import { foldNodes, type networkGroupings, type NetworkNode } from './nodes.ts'

export { networkGroupings, type NetworkNode } from './nodes.ts'

/** This hour and the last one; the last 24 hours; today and the six days before, in UTC. */
export const networkWindows = ['hour', 'day', 'week'] as const

export interface NetworkQuery {
  window: typeof networkWindows[number]
  by: typeof networkGroupings[number]
  /** The group whose agents are shown one by one, where the others are folded. */
  open?: string
}

/** What two nodes sent each other, or what was sent within a group. */
export interface NetworkEdge {
  a: NetworkNode
  b: NetworkNode
  /** From `a` to `b`, and the other way. */
  there: number
  back: number
  /** Refused or not checked by guardrails, or parked. */
  failed: number
  lastAt: number | null
  /** The conversation of the pair or channel, if the reader may read its newest message. */
  threadId?: number
  /** The reader may read the newest message between two single nodes. */
  isReadable: boolean
  /** What was counted first, by the keys of its ends. */
  keys: [source: string, target: string]
}

export interface Network {
  nodes: NetworkNode[]
  /** The strongest ones and all that fail, the strongest first. */
  edges: NetworkEdge[]
  hidden: number
  since: number
  /** There are more than `maxAgents`. */
  isCut: boolean
}

/** Of the strongest, and as many more that fail. */
const maxEdges = 200
/** Of more agents, those that were seen last are counted, with what they sent. */
export const maxAgents = 500

/** Who sent how much to whom, as every member of the account may see it. */
export async function networkOf(account: AccountStore, query: NetworkQuery): Promise<Network> {
  const traffic = account.feature(networkTables).read
  const now = account.deps.now()
  const hours = query.window === 'hour' ? 1 : 23
  const since = query.window === 'week' ? startOfDay(now) - 6 * day : now - now % hour - hours * hour
  const [all, parked, refused, reader] = await Promise.all([
    traffic.ends(maxAgents + 1),
    traffic.parked(since),
    traffic.refused(since),
    readerOf(account),
  ])
  const agents = all.filter(({ name }) => name.startsWith('@'))
  const isCut = agents.length > maxAgents
  const ends = isCut ? all.filter((end) => end !== agents[maxAgents]) : all
  const ids = agents.slice(0, maxAgents).map(({ id }) => id)
  const [groups, sent] = await Promise.all([
    traffic.groups(query.by, ids),
    traffic.sent(ids, query.window === 'week' ? day : hour, since),
  ])
  const { nodes, byKey } = foldNodes({ ends, groups, sent, since, isCut, ...query })
  const found = new Map<string, NetworkEdge>()
  const edgeOf = (source: string, target: string) => {
    const [from, to] = [byKey.get(source), byKey.get(target)]
    // Deleted agents are not shown; and of an open group, only what concerns it.
    if (!from || !to || (query.open !== undefined && from.kind === 'group' && to.kind === 'group')) return undefined
    const [a, b] = from.n <= to.n ? [from, to] : [to, from]
    const id = `${a.n} ${b.n}`
    const edge: NetworkEdge = found.get(id) ??
      { a, b, there: 0, back: 0, failed: 0, lastAt: null, isReadable: false, keys: [source, target] }
    found.set(id, edge)
    return { edge, from, to }
  }
  for (const { source, target, messages, lastAt } of sent) {
    const at = edgeOf(source, target)
    if (!at) continue
    at.from.sent += messages
    at.to.received += messages
    at.edge[at.from === at.edge.a ? 'there' : 'back'] += messages
    at.edge.lastAt = Math.max(at.edge.lastAt ?? 0, lastAt)
  }
  const keys = new Map(ends.map(({ id, name }) => [name, id]))
  const keyOf = (end: string) => keys.get(end) ?? end
  for (const { source, target, messages } of [...parked, ...refused]) {
    const at = edgeOf(keyOf(source), keyOf(target))
    if (at) at.edge.failed += messages
  }
  const edges = [...found.values()].sort((one, two) => volumeOf(two) - volumeOf(one))
  const failing = edges.slice(maxEdges).filter(({ failed }) => failed > 0).slice(0, maxEdges)
  const shown = [...edges.slice(0, maxEdges), ...failing]
  await findConversations(account, reader, shown)
  return { nodes, edges: shown, hidden: edges.length - shown.length, since, isCut }
}

export function volumeOf({ there, back }: Pick<NetworkEdge, 'there' | 'back'>): number {
  return there + back
}

/** Find the conversations of single pairs and channels, and whether the calling user may read them. */
async function findConversations(account: AccountStore, reader: Reader, edges: NetworkEdge[]): Promise<void> {
  const single = edges.filter(({ a, b }) => a.kind !== 'group' && b.kind !== 'group').map((edge) => {
    const channelId = [edge.a, edge.b].find(({ kind }) => kind === 'channel')?.id ?? null
    return {
      edge,
      place: placeOf(reader, { channelId, agents: edge.keys }),
      key: channelId ?? edge.keys.toSorted().join(' '),
    }
  })
  const threads = await account.feature(networkTables).read.threads(single.map(({ key }) => key))
  for (const { edge, place, key } of single) {
    const thread = threads.find((one) => one.key === key)
    edge.isReadable = mayRead(reader, place, edge.lastAt ?? 0)
    if (thread && mayRead(reader, place, thread.lastAt)) edge.threadId = thread.id
  }
}
