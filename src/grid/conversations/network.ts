/** Who talks to whom in an account, as numbers without a text. See docs/operating.md, "Network". */
import { day, hour, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { foldNodes, type networkGroupings, type NetworkNode } from './network-nodes.ts'
import { mayRead, placeOf, type Reader, readerOf } from './may-read.ts'

export { networkGroupings, type NetworkNode } from './network-nodes.ts'

/** This hour and the last one; the last 24 hours; today and the six days before, in UTC. */
export const networkWindows = ['hour', 'day', 'week'] as const

export interface NetworkQuery {
  window: typeof networkWindows[number]
  by: typeof networkGroupings[number]
  /** The group whose agents are shown one by one, where the others are folded. */
  open?: string
}

/** What two nodes sent each other; or what one sent to itself, if it is a group. */
export interface NetworkEdge {
  a: NetworkNode
  b: NetworkNode
  /** From `a` to `b`, and the other way. */
  there: number
  back: number
  /** Refused or not checked by guardrails, or set aside at the recipient. */
  failed: number
  lastAt: number | null
  /** The conversation of the pair or channel, if the reader may read its newest message. */
  threadId?: number
  /** The reader may read the newest message. */
  isReadable: boolean
}

export interface Network {
  /** In the order of their groups. */
  nodes: NetworkNode[]
  /** The strongest ones and all that fail, the strongest first. */
  edges: NetworkEdge[]
  /** How many weaker ones are left out. */
  hiddenEdges: number
  /** How many agents of an open group are left out, because they sent and received least. */
  hiddenNodes: number
  since: number
}

const maxEdges = 200
const maxFailing = 200

/** Who sent how much to whom, as every member of the account may see it. */
export async function networkOf(account: AccountStore, query: NetworkQuery): Promise<Network> {
  const { edges } = account.read
  const { period, since } = startOf(query.window, account.deps.now())
  const [reader, agents, channels, groups, sent, parked, refused] = await Promise.all([
    readerOf(account),
    edges.agents(),
    edges.channels(),
    edges.groups(query.by),
    edges.sent(period, since),
    edges.parked(since),
    edges.refused(since),
  ])
  const keys = new Map([
    ...agents.map(({ id, alias }): [string, string] => [`@${alias}`, id]),
    ...channels.map(({ id, name }): [string, string] => [`#${name}`, id]),
  ])
  const keyOf = (name: string) => keys.get(name) ?? name
  const failed = [
    ...parked,
    ...refused.map((row) => ({
      ...row,
      source: keyOf(row.source),
      target: keyOf(row.target),
    })),
  ]
  const { nodes, nodeOf, isApart, hidden } = foldNodes({ agents, channels, groups, sent, since, ...query })

  const found = new Map<string, NetworkEdge & { keys: string[] }>()
  const edgeOf = (source: string, target: string) => {
    const [from, to] = [nodeOf(source), nodeOf(target)]
    if (!from || !to || (isApart(from) && isApart(to))) return undefined
    const [a, b] = from.n <= to.n ? [from, to] : [to, from]
    const id = `${a.n} ${b.n}`
    const edge = found.get(id) ??
      { a, b, there: 0, back: 0, failed: 0, lastAt: null, isReadable: false, keys: [source, target] }
    found.set(id, edge)
    return { edge, from, to }
  }
  for (const { source, target, messages, lastAt } of sent) {
    const at = edgeOf(source, target)
    if (!at) continue
    at.from.sent += messages
    at.to.received += messages
    if (at.from === at.edge.a) at.edge.there += messages
    else at.edge.back += messages
    at.edge.lastAt = Math.max(at.edge.lastAt ?? 0, lastAt)
  }
  for (const { source, target, messages } of failed) {
    const at = edgeOf(source, target)
    if (at) at.edge.failed += messages
  }
  const all = [...found.values()].sort((one, two) => volumeOf(two) - volumeOf(one))
  const failing = all.slice(maxEdges).filter(({ failed }) => failed > 0).slice(0, maxFailing)
  const shown = [...all.slice(0, maxEdges), ...failing]
  await findConversations(account, reader, shown, new Set(channels.map(({ id }) => id)))
  return { nodes, edges: shown, hiddenEdges: all.length - shown.length, hiddenNodes: hidden, since }
}

export function volumeOf({ there, back }: Pick<NetworkEdge, 'there' | 'back'>): number {
  return there + back
}

function startOf(window: NetworkQuery['window'], now: number): { period: number; since: number } {
  if (window === 'week') return { period: day, since: startOfDay(now) - 6 * day }
  return { period: hour, since: now - now % hour - (window === 'hour' ? 1 : 23) * hour }
}

/** Find the conversations of single pairs and channels, and whether the reader may read them. */
async function findConversations(
  account: AccountStore,
  reader: Reader,
  edges: (NetworkEdge & { keys: string[] })[],
  channels: Set<string>,
): Promise<void> {
  const single = edges.filter(({ a, b }) => a.kind !== 'group' && b.kind !== 'group')
  const channelOf = (keys: string[]) => keys.find((key) => channels.has(key)) ?? null
  const threadKey = (keys: string[]) => channelOf(keys) ?? [...keys].sort().join(' ')
  const threads = await account.read.edges.threads(single.map(({ keys }) => threadKey(keys)))
  const byKey = new Map(threads.map((thread) => [thread.key, thread]))
  for (const edge of single) {
    const thread = byKey.get(threadKey(edge.keys))
    const place = placeOf(reader, { channelId: channelOf(edge.keys), agents: edge.keys })
    edge.isReadable = mayRead(reader, place, edge.lastAt ?? 0)
    if (thread && mayRead(reader, place, thread.lastAt)) edge.threadId = thread.id
  }
}
