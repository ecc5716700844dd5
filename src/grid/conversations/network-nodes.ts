/** Which agents and channels the page Network shows one by one, and which as a group. */

export const networkGroupings = ['channel', 'skill'] as const

export interface NetworkNode {
  /** Its place in the list of nodes. */
  n: number
  /** `@alias`, `#name`, or the name of a group. */
  name: string
  kind: 'agent' | 'channel' | 'foreign' | 'group'
  /** The id of a channel. */
  id: string
  group: string
  /** It belongs to other accounts. */
  isOutside: boolean
  /** The agent was seen in the time of the picture; a channel or group was written to. */
  isSeen: boolean
  sent: number
  received: number
  /** How many agents and channels it stands for. */
  members: number
}

/** What nodes are made of: the rows of `account.read.edges`. */
interface NodeSource {
  by: typeof networkGroupings[number]
  /** The group whose agents are shown one by one, where the others are folded. */
  open?: string
  agents: { id: string; alias: string; lastSeenAt: number | null }[]
  channels: { id: string; name: string }[]
  /** `members` is JSON. */
  groups: { name: string; members: string }[]
  sent: { source: string; target: string; messages: number }[]
  since: number
}

/** The group of the agents of other accounts. */
const otherAccounts = 'Other accounts'

/** More agents and channels than this are folded into groups. */
const maxNodes = 200
const maxGroups = 39
const maxForeign = 16

type OwnEnd = Pick<NetworkNode, 'id' | 'name' | 'kind' | 'group' | 'isSeen'>

/**
 * Make the nodes. Their order depends on names and groups alone, so that each has the same place at all times. `hidden`
 * counts those of the open group that find no room.
 */
export function foldNodes(source: NodeSource) {
  const { sent } = source
  const traffic = new Map<string, number>()
  for (const { source, target, messages } of sent) {
    for (const key of [source, target]) traffic.set(key, (traffic.get(key) ?? 0) + messages)
  }
  const busiest = (one: string, two: string) => (traffic.get(two) ?? 0) - (traffic.get(one) ?? 0)
  const ends = ownEnds(source, traffic)
  const foreign = [...traffic.keys()].filter((key) => key.startsWith('@')).sort(busiest)
  const isFolded = ends.length > maxNodes
  const opened = isFolded ? ends.filter(({ group }) => group === source.open) : ends
  const single = new Set(opened.map(({ id }) => id).sort(busiest).slice(0, maxNodes))

  const byKey = new Map<string, NetworkNode>()
  const nodes: NetworkNode[] = []
  const add = (key: string, end: OwnEnd) => {
    const known = nodes.find(({ kind, name }) => end.kind === 'group' && kind === 'group' && name === end.name)
    const isOutside = end.group === otherAccounts && end.id === ''
    const node = known ?? { ...end, isOutside, n: nodes.length, sent: 0, received: 0, members: 0 }
    if (!known) nodes.push(node)
    node.members++
    node.isSeen ||= end.isSeen
    byKey.set(key, node)
  }
  const asGroup = (name: string, isSeen: boolean): OwnEnd => ({ id: '', name, kind: 'group', group: name, isSeen })
  for (const end of ends) {
    if (single.has(end.id)) add(end.id, end)
    else if (end.group !== source.open || !isFolded) add(end.id, asGroup(end.group, end.isSeen))
  }
  const shownForeign = isFolded ? [] : foreign.slice(0, maxForeign)
  for (const name of shownForeign.sort()) {
    add(name, { id: '', name, kind: 'foreign', group: otherAccounts, isSeen: true })
  }
  for (const name of foreign.filter((name) => !byKey.has(name))) add(name, asGroup(otherAccounts, true))
  return {
    nodes,
    nodeOf: (key: string) => byKey.get(key),
    /** What two of these nodes say is not shown, because a group is open that neither belongs to. */
    isApart: ({ kind }: NetworkNode) => kind === 'group' && single.size > 0 && isFolded,
    hidden: opened.length - single.size,
  }
}

/** The agents and channels of the account, in the order of their groups and names. */
function ownEnds({ agents, channels, groups, by, since }: NodeSource, traffic: Map<string, number>): OwnEnd[] {
  const none = by === 'channel' ? 'In no channel' : 'Without a skill'
  const groupOf = smallestGroups(groups, new Set(agents.map(({ id }) => id)))
  const ends = [
    ...agents.map(({ id, alias, lastSeenAt }): OwnEnd => ({
      ...{ id, name: `@${alias}`, kind: 'agent', group: groupOf.get(id) ?? none },
      isSeen: lastSeenAt !== null && lastSeenAt >= since,
    })),
    ...channels.map(({ id, name }): OwnEnd => ({
      ...{ id, name: `#${name}`, kind: 'channel', group: by === 'channel' ? `#${name}` : 'Channels' },
      isSeen: traffic.has(id),
    })),
  ]
  const sizes = new Map<string, number>()
  for (const { group } of ends) sizes.set(group, (sizes.get(group) ?? 0) + 1)
  const largest = [...sizes.keys()].sort((one, two) => sizes.get(two)! - sizes.get(one)!).slice(0, maxGroups)
  const kept = new Set([...largest, none])
  for (const end of ends) if (!kept.has(end.group)) end.group = 'Other groups'
  const place = ({ group }: OwnEnd) => group === none ? 2 : group === 'Other groups' ? 1 : 0
  return ends.sort((one, two) =>
    place(one) - place(two) || compare(one.group, two.group) || compare(one.name, two.name)
  )
}

function compare(one: string, two: string): number {
  return one < two ? -1 : one > two ? 1 : 0
}

/** The smallest group that each agent shares with another one, which says most about it. */
function smallestGroups(groups: NodeSource['groups'], live: Set<string>): Map<string, string> {
  const found = new Map<string, string>()
  const parsed = groups.map(({ name, members }) => ({
    name,
    members: (JSON.parse(members) as string[]).filter((id) => live.has(id)),
  }))
  const weight = ({ members }: typeof parsed[number]) => members.length < 2 ? Infinity : members.length
  parsed.sort((one, two) => weight(one) === weight(two) ? compare(one.name, two.name) : weight(one) - weight(two))
  for (const { name, members } of parsed) {
    for (const id of members) if (!found.has(id)) found.set(id, name)
  }
  return found
}
