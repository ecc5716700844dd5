/** Which agents and channels the page Network shows one by one, and which as a group. */

export const networkGroupings = ['channel', 'skill'] as const

export interface NetworkNode {
  /** Its place in the list of nodes. */
  n: number
  /** `@alias`, `#name`, or the name of a group. */
  name: string
  kind: 'agent' | 'channel' | 'foreign' | 'group'
  /** Of a channel; empty for a group. */
  id: string
  group: string
  /** It belongs to other accounts, or to the agents that are not counted. */
  isOutside: boolean
  /** An agent was seen in the time of the picture; a channel was written to. */
  isSeen: boolean
  sent: number
  received: number
  /** How many agents and channels it stands for. */
  members: number
}

/** The rows of `networkTables`, and what is asked for. */
interface Source {
  ends: { id: string; name: string; lastSeenAt: number | null }[]
  groups: { name: string; agents: string }[]
  sent: { source: string; target: string; messages: number }[]
  since: number
  /** Not all agents are among the ends. */
  isCut: boolean
  by: typeof networkGroupings[number]
  open?: string
}

/** More agents and channels than this are folded into groups. */
const maxNodes = 200
const maxGroups = 39
const maxForeign = 16
const otherGroups = 'Other groups'
const otherAccounts = 'Other accounts'
const otherAgents = 'Other agents'

/**
 * The nodes, and the node of each end by its key. Places depend on names and groups alone, so that they stay the same. Of
 * an open group the busiest are shown.
 */
export function foldNodes(source: Source): { nodes: NetworkNode[]; byKey: Map<string, NetworkNode> } {
  const traffic = new Map<string, number>()
  for (const { source: from, target, messages } of source.sent) {
    for (const key of [from, target]) traffic.set(key, (traffic.get(key) ?? 0) + messages)
  }
  const busiest = (keys: string[], max: number) =>
    new Set(keys.sort((one, two) => (traffic.get(two) ?? 0) - (traffic.get(one) ?? 0)).slice(0, max))
  const own = grouped(source)
  const isFolded = own.length > maxNodes
  const foreign = [...traffic.keys()].filter((key) => key.startsWith('@')).sort()
  const single = new Set([
    ...busiest(own.filter(({ group }) => !isFolded || group === source.open).map(({ id }) => id), maxNodes),
    ...busiest(isFolded ? [] : [...foreign], maxForeign),
  ])

  const nodes: NetworkNode[] = []
  const byKey = new Map<string, NetworkNode>()
  const folds = new Map<string, NetworkNode>()
  const add = (id: string, name: string, group: string, isSeen: boolean, isOutside = false) => {
    const isSingle = single.has(id)
    const kind = !isSingle ? 'group' : isOutside ? 'foreign' : name.startsWith('#') ? 'channel' : 'agent'
    let node = isSingle ? undefined : folds.get(group)
    if (!node) {
      const [shown, key] = isSingle ? [name, id] : [group, '']
      node = { n: nodes.length, name: shown, kind, id: key, group, isOutside, isSeen, sent: 0, received: 0, members: 0 }
      nodes.push(node)
      if (!isSingle) folds.set(group, node)
    }
    node.members++
    node.isSeen ||= isSeen
    byKey.set(id, node)
  }
  for (const { id, name, group, lastSeenAt } of own) {
    add(id, name, group, name.startsWith('#') ? traffic.has(id) : (lastSeenAt ?? 0) >= source.since)
  }
  // Also agents that are deleted.
  const others = source.isCut ? [...traffic.keys()].filter((key) => !key.startsWith('@') && !byKey.has(key)) : []
  for (const id of others) add(id, id, otherAgents, false, true)
  for (const name of foreign) add(name, name, otherAccounts, true, true)
  return { nodes, byKey }
}

/** The agents and channels in the order of their groups. An agent is in the smallest that it shares, which says most about it. */
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
