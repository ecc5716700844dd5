/** The agents and channels on the Network page, and their groups. */

export const networkGroupings = ['channel', 'skill'] as const

/** Counts of messages sent and received, and answer times, in the displayed period. */
export interface Counts {
  sent: number
  received: number
  /** Messages sent or received that were parked, or that guardrails refused or could not check. */
  failed: number
  answers: number
  /** The total answer time. */
  answerMs: number
}

/** A group of nodes. Each message counts once as sent and once as received, even within the group. */
export interface NetworkGroup extends Counts {
  name: string
  /** Number of its agents and channels, except the channel that it is named after. */
  members: number
  isOutside: boolean
}

export interface NetworkNode extends Counts {
  /** Its index in the list of nodes. */
  n: number
  /** `@alias`, `#name`, or the name of a combined node. */
  name: string
  kind: 'agent' | 'channel' | 'foreign' | 'group'
  /** The id of the agent or channel; the alias for another account's agent; empty for a combined node. */
  id: string
  group: NetworkGroup
  /** Whether the node belongs to other accounts, or combines the uncounted agents. */
  isOutside: boolean
  /** Whether an agent was seen or sent a message, or a channel got a post, in the displayed period. */
  isSeen: boolean
  /** Number of agents that the node represents. */
  members: number
}

/** The rows from `networkTables`, and the parameters. */
interface Source {
  ends: { id: string; name: string; lastSeenAt: number | null }[]
  groups: { name: string; agents: string }[]
  sent: { source: string; target: string; messages: number }[]
  since: number
  /** Whether `ends` lacks some agents. */
  isCut: boolean
  by: typeof networkGroupings[number]
}

const maxGroups = 39
const maxForeign = 16
const otherGroups = 'Other groups'
const otherAccounts = 'Other accounts'
const otherAgents = 'Other agents'

/**
 * Creates the nodes, their groups, and a map from each end's key to its node. Counts are zero. The order depends only
 * on names and groups, so that positions are stable. The busiest agents of other accounts get individual nodes.
 */
export function nodesOf(
  source: Source,
): { nodes: NetworkNode[]; groups: NetworkGroup[]; byKey: Map<string, NetworkNode> } {
  const traffic = new Map<string, number>()
  for (const { source: from, target, messages } of source.sent) {
    for (const key of [from, target]) traffic.set(key, (traffic.get(key) ?? 0) + messages)
  }
  const senders = new Set(source.sent.map((one) => one.source))
  const foreign = [...traffic.keys()].filter((key) => key.startsWith('@')).sort()
  const busiest = new Set(foreign.toSorted((a, b) => traffic.get(b)! - traffic.get(a)!).slice(0, maxForeign))

  const nodes: NetworkNode[] = []
  const byKey = new Map<string, NetworkNode>()
  const groups = new Map<string, NetworkGroup>()
  const none = { sent: 0, received: 0, failed: 0, answers: 0, answerMs: 0 }
  const groupOf = (name: string, isOutside: boolean) => {
    const key = `${isOutside} ${name}`
    const group = groups.get(key) ?? { ...none, name, members: 0, isOutside }
    groups.set(key, group)
    return group
  }
  const add = (node: Omit<NetworkNode, 'n' | 'members' | keyof Counts>) => {
    const added = { ...none, ...node, n: nodes.length, members: 0 }
    nodes.push(added)
    return added
  }
  const join = (key: string, node: NetworkNode) => {
    byKey.set(key, node)
    node.members++
    if (node.name !== node.group.name || node.kind === 'group') node.group.members++
  }
  for (const { id, name, group, lastSeenAt } of grouped(source)) {
    const isChannel = name.startsWith('#')
    const isSeen = isChannel ? traffic.has(id) : senders.has(id) || (lastSeenAt ?? 0) >= source.since
    const kind = isChannel ? 'channel' : 'agent'
    join(id, add({ name, kind, id, group: groupOf(group, false), isOutside: false, isSeen }))
  }
  /** Combines many agents into one node. */
  const fold = (keys: string[], name: string, isSeen: boolean) => {
    if (keys.length === 0) return
    const node = add({ name, kind: 'group', id: '', group: groupOf(name, true), isOutside: true, isSeen })
    for (const key of keys) join(key, node)
  }
  // These agents were not counted. Some of them may be deleted.
  const others = source.isCut ? [...traffic.keys()].filter((key) => !key.startsWith('@') && !byKey.has(key)) : []
  fold(others, otherAgents, false)
  for (const name of foreign.filter((name) => busiest.has(name))) {
    const group = groupOf(otherAccounts, true)
    join(name, add({ name, kind: 'foreign', id: name, group, isOutside: true, isSeen: true }))
  }
  fold(foreign.filter((name) => !busiest.has(name)), otherAccounts, true)
  return { nodes, groups: [...groups.values()], byKey }
}

/**
 * The agents and channels sorted by group. An agent that shares several groups belongs to the smallest one, which is
 * the most specific.
 */
function grouped({ ends, groups, by }: Source) {
  const none = by === 'channel' ? 'In no channel' : 'Without a skill'
  const groupOf = new Map<string, string>()
  for (const { name, agents } of groups) {
    for (const id of JSON.parse(agents)) if (!groupOf.has(id)) groupOf.set(id, name)
  }
  const found = ends.map((end) => {
    const ofChannel = by === 'channel' ? end.name : 'Channels'
    return { ...end, group: end.name.startsWith('#') ? ofChannel : groupOf.get(end.id) ?? none }
  })
  const sizes = new Map<string, number>()
  for (const { group } of found) sizes.set(group, (sizes.get(group) ?? 0) + 1)
  const largest = new Set([...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)!).slice(0, maxGroups - 1))
  for (const end of found) if (!largest.has(end.group)) end.group = otherGroups
  const place = ({ group, name }: typeof found[number]) => `${[otherGroups, none].indexOf(group) + 1}${group}\n${name}`
  const places = new Map(found.map((end) => [end, place(end)]))
  return found.sort((one, two) => places.get(one)! < places.get(two)! ? -1 : 1)
}
