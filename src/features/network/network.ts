/** Message counts between an account's agents, without texts. See docs/web.md, "Network". */
import { networkTables } from './store.ts'
import { day, hour, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { mayRead, placeOf, type Reader, readerOf } from '../../grid/conversations/may-read.ts'
import { type Counts, type NetworkGroup, type networkGroupings, type NetworkNode, nodesOf } from './nodes.ts'

export { type Counts, type NetworkGroup, networkGroupings, type NetworkNode } from './nodes.ts'

/** UTC. `hour`: this and the previous hour; `day`: the last 24 hours; `week`: today and the six previous days. */
export const networkWindows = ['hour', 'day', 'week'] as const

export interface NetworkQuery {
  window: typeof networkWindows[number]
  by: typeof networkGroupings[number]
  /** The group whose members are shown, if there are more than `maxOnRing` agents and channels. */
  open?: string
}

/** Messages between two nodes, or within a node that stands for many agents. */
export interface NetworkEdge {
  a: NetworkNode
  b: NetworkNode
  /** Number of messages from `a` to `b`, and from `b` to `a`. */
  there: number
  back: number
  /** Number of messages that were parked, or that guardrails refused or could not check. */
  failed: number
  lastAt: number | null
  /** The conversation of the pair or channel, if the reader may read its newest message. */
  threadId?: number
  /** Whether the reader may read the newest message between two single nodes. */
  isReadable: boolean
  /** Ids of the two ends, or `@alias` for another account's agent. */
  keys: [source: string, target: string]
}

export interface Network {
  nodes: NetworkNode[]
  /** The groups of the nodes. Empty if all nodes are shown individually. */
  groups: NetworkGroup[]
  open?: NetworkGroup
  /** The busiest pairs, followed by further pairs with failures. If a group is open, only its pairs. */
  edges: NetworkEdge[]
  hidden: number
  since: number
  /** Whether there are more than `maxAgents` agents. */
  isCut: boolean
}

/** Maximum number of agents and channels that are shown individually. If there are more, they are grouped. */
const maxOnRing = 40
/**
 * Maximum number of busiest pairs, and of additional failing pairs. Lower if groups are shown, to keep the page small.
 */
const maxEdges = 200
const maxEdgesOfGroups = 30
/** Maximum number of agents whose messages are counted. If there are more, those seen most recently are counted. */
export const maxAgents = 500

/** The message counts of the account. Every member may see them. */
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
  const [found, sent] = await Promise.all([
    traffic.groups(query.by, ids),
    traffic.sent(ids, query.window === 'week' ? day : hour, since),
  ])
  const { nodes, groups, byKey } = nodesOf({ ends, groups: found, sent, since, isCut, by: query.by })
  const isLarge = ends.length > maxOnRing
  const open = isLarge ? groups.find(({ name, isOutside }) => name === query.open && !isOutside) : undefined
  const edgesById = new Map<number, NetworkEdge>()
  const edgeOf = (from: NetworkNode, to: NetworkNode, keys: NetworkEdge['keys']) => {
    if (open && from.group !== open && to.group !== open) return undefined
    const [a, b] = from.n <= to.n ? [from, to] : [to, from]
    const id = a.n * nodes.length + b.n
    const edge: NetworkEdge = edgesById.get(id) ??
      { a, b, there: 0, back: 0, failed: 0, lastAt: null, isReadable: false, keys }
    edgesById.set(id, edge)
    return edge
  }
  for (const { source, target, messages, lastAt, answers, answerMs } of sent) {
    const [from, to] = [byKey.get(source), byKey.get(target)]
    // Deleted agents are not shown.
    if (!from || !to) continue
    for (const one of [from, from.group]) {
      one.sent += messages
      one.answers += answers
      one.answerMs += answerMs
    }
    for (const one of [to, to.group]) one.received += messages
    const edge = edgeOf(from, to, [source, target])
    if (!edge) continue
    edge[from === edge.a ? 'there' : 'back'] += messages
    edge.lastAt = Math.max(edge.lastAt ?? 0, lastAt)
  }
  const keys = new Map(ends.map(({ id, name }) => [name, id]))
  const keyOf = (end: string) => keys.get(end) ?? end
  for (const { source, target, messages } of [...parked, ...refused]) {
    const ends: NetworkEdge['keys'] = [keyOf(source), keyOf(target)]
    const [from, to] = ends.map((end) => byKey.get(end))
    if (!from || !to) continue
    for (const one of new Set<Counts>([from, from.group, to, to.group])) one.failed += messages
    const edge = edgeOf(from, to, ends)
    if (edge) edge.failed += messages
  }
  const edges = [...edgesById.values()].sort((one, two) => volumeOf(two) - volumeOf(one))
  const max = isLarge ? maxEdgesOfGroups : maxEdges
  const failing = edges.slice(max).filter(({ failed }) => failed > 0).slice(0, max)
  const shown = [...edges.slice(0, max), ...failing]
  await findConversations(account, reader, shown)
  return { nodes, groups: isLarge ? groups : [], open, edges: shown, hidden: edges.length - shown.length, since, isCut }
}

/** Compares groups or members: most failures first, then slowest, then busiest. */
export function worstFirst(one: Counts, two: Counts): number {
  return two.failed - one.failed || averageAnswerMs(two) - averageAnswerMs(one) ||
    two.sent + two.received - one.sent - one.received
}

/** The average time to an answer; 0 if there are no answers. */
export function averageAnswerMs({ answers, answerMs }: Counts): number {
  return answerMs / Math.max(1, answers)
}

export function volumeOf({ there, back }: Pick<NetworkEdge, 'there' | 'back'>): number {
  return there + back
}

/** Sets `threadId` and `isReadable` of the edges that have no combined node. */
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
