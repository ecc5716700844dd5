import type { channelMembers, channels as table } from '../../../db/schema.ts'
import { type AccountDb, matchesSearchText, precondition, query, statement } from '../sql.ts'
import type { AgentType } from './agents.ts'
import { guardsOfPost } from './guarding.ts'

export type Wake = NonNullable<typeof channelMembers.$inferSelect.wake>

interface Channel {
  id: string
  name: string
  description: string
}

interface ListedChannel extends Channel {
  externalIntegrationType: typeof table.$inferSelect.externalIntegrationType
  externalChannelName: string | null
  createdAt: number
  memberCount: number
}

const isLive = 'channels.account_id = :account AND channels.deleted_at IS NULL'
const isOfChannel = 'channel_members.account_id = channels.account_id AND channel_members.channel_id = channels.id'
/** The memberships of the agent that is bound as `agent`. */
const isOwnMembership = `member.account_id = channels.account_id AND member.channel_id = channels.id
  AND member.agent_id = :agent`
const columns = 'channels.id, channels.name, channels.description'
const listedColumns = `${columns}, channels.external_integration_type, channels.external_channel_name,
  channels.created_at`
// A subquery, so that members are counted only for the page's rows.
const memberCount = `(SELECT count(*) FROM channel_members WHERE ${isOfChannel}) AS member_count`
const joinAgents = `JOIN agents ON agents.account_id = channel_members.account_id
  AND agents.id = channel_members.agent_id`

const byName = query<Channel & { isMember: number; memberCount: number; guards: number }>(`
  SELECT ${columns}, EXISTS (SELECT 1 FROM channel_members AS member WHERE ${isOwnMembership}) AS is_member,
    ${memberCount}, ${guardsOfPost(':agent')} AS guards
  FROM channels WHERE ${isLive} AND channels.name = :name`)
// Each row contains the aliases of its members, so that a page reads only the members of the channels that it shows.
const ofAgent = query<Channel & { members: string }>(`
  SELECT ${columns}, (SELECT json_group_array(agents.alias) FROM channel_members ${joinAgents}
    WHERE ${isOfChannel} AND agents.deleted_at IS NULL) AS members
  FROM channels JOIN channel_members AS member ON ${isOwnMembership}
  WHERE ${isLive} AND channels.name > :after
  ORDER BY channels.name LIMIT :limit`)
const joined = query<{ id: string; name: string }>(`
  SELECT channels.id, channels.name FROM channel_members AS member
  JOIN channels ON channels.account_id = member.account_id AND channels.id = member.channel_id
    AND channels.deleted_at IS NULL
  WHERE member.account_id = :account AND member.agent_id = :agent
  ORDER BY channels.name LIMIT :limit`)
const page = query<ListedChannel>(`
  SELECT ${listedColumns}, ${memberCount} FROM channels
  WHERE ${isLive} AND channels.name > :after
  ORDER BY channels.name LIMIT :limit`)
const total = query<{ n: number }>(`SELECT count(*) AS n FROM channels WHERE ${isLive}`)
const byRef = query<ListedChannel>(`
  SELECT ${listedColumns}, ${memberCount} FROM channels
  WHERE ${isLive} AND (channels.id = :ref OR channels.name = :name)`)
const members = query<{
  id: string
  alias: string
  type: AgentType
  description: string
  joinedAt: number
  wake: Wake | null
}>(`
  SELECT agents.id, agents.alias, agents.type, agents.description, channel_members.joined_at, channel_members.wake
  FROM channel_members ${joinAgents}
  WHERE channel_members.account_id = :account AND channel_members.channel_id = :channel AND agents.deleted_at IS NULL
  ORDER BY agents.alias LIMIT :limit OFFSET :offset`)
const nonMembers = query<{ id: string; alias: string; description: string }>(`
  SELECT agents.id, agents.alias, agents.description FROM agents
  WHERE agents.account_id = :account AND agents.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM channel_members AS member WHERE member.account_id = agents.account_id
      AND member.channel_id = :channel AND member.agent_id = agents.id)
    AND ${matchesSearchText(['agents.alias', 'agents.description'])}
  ORDER BY agents.alias LIMIT :limit`)
const isFound = `${isLive} AND ${matchesSearchText(['channels.name', 'channels.description'])}`
const searchQuery = query<Channel & { memberCount: number; createdAt: number }>(`
  SELECT ${columns}, ${memberCount}, channels.created_at FROM channels WHERE ${isFound}
  ORDER BY channels.name LIMIT :limit OFFSET :offset`)
const searchTotal = query<{ n: number }>(`SELECT count(*) AS n FROM channels WHERE ${isFound}`)

const update = statement(`UPDATE channels SET description = :description WHERE ${isLive} AND channels.id = :channel`)
const softDelete = statement(`UPDATE channels SET deleted_at = :at WHERE ${isLive} AND channels.id = :channel`)
const requireLive = precondition(`EXISTS (SELECT 1 FROM channels WHERE ${isLive} AND channels.id = :channel)`)
const ofChannel = 'account_id = :account AND channel_id = :channel'
const removeOtherMembers = statement(`
  DELETE FROM channel_members WHERE ${ofChannel} AND agent_id NOT IN (SELECT value FROM json_each(:ids))`)
const membership = query<{ follows: number }>(`
  SELECT follows FROM channel_members WHERE ${ofChannel} AND agent_id = :agent`)
const follow = statement(`
  UPDATE channel_members SET follows = :follows WHERE ${ofChannel} AND agent_id = :agent RETURNING 1`)
const setWake = statement(`
  UPDATE channel_members SET wake = :wake WHERE ${ofChannel} AND agent_id = :agent RETURNING 1`)
const removeAgent = statement(`DELETE FROM channel_members WHERE account_id = :account AND agent_id = :agent`)
const removeMembers = statement(`
  DELETE FROM channel_members WHERE ${ofChannel} AND agent_id IN (SELECT value FROM json_each(:ids))`)
const requireAtMost = precondition(`(SELECT count(*) FROM channel_members WHERE ${ofChannel}) <= :max`)
const addMembers = statement(`
  INSERT INTO channel_members (account_id, channel_id, agent_id, joined_at)
  SELECT account_id, :channel, id, :at FROM agents
  WHERE account_id = :account AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))
  ON CONFLICT DO NOTHING`)
const add = statement(`
  INSERT INTO channels (account_id, id, name, description, created_at)
  VALUES (:account, :id, :name, :description, :at)`)

export const channels = {
  reads: (account: AccountDb) => ({
    /** A live channel of the account, whether `agent` is a member, and whether guardrails check its posts. */
    byName: (name: string, agent: string) => account.one(byName, { name, agent }),
    page: (after: string, limit: number) => account.all(page, { after, limit }),
    total: async () => (await account.one(total))!.n,
    byRef: (ref: string, name: string) => account.one(byRef, { ref, name }),
    /**
     * An agent's channels by name, after the name `after`; `members` is JSON of the aliases, in no particular order.
     */
    ofAgent: (agent: string, after: string, limit: number) => account.all(ofAgent, { agent, after, limit }),
    joined: (agent: string, limit: number) => account.all(joined, { agent, limit }),
    members: (channel: string, limit: number, offset = 0) => account.all(members, { channel, limit, offset }),
    /** An agent's membership; undefined if it is not a member. */
    membership: (channel: string, agent: string) => account.one(membership, { channel, agent }),
    /** Live agents, by alias, that are not members and whose alias or description contains `search`. */
    nonMembers: (channel: string, search: string, limit: number) => account.all(nonMembers, { channel, search, limit }),
    search: (search: string, limit: number, offset: number) => account.all(searchQuery, { search, limit, offset }),
    searchTotal: async (search: string) => (await account.one(searchTotal, { search }))!.n,
  }),
  changes: (account: AccountDb) => ({
    add: (channel: Channel, at: number) => account.bind(add, { ...channel, at }),
    /** Skips members and deleted agents. To fail for a deleted agent, use `agents.requireLive`. */
    addMembers: (channel: string, ids: string[], at: number) => ({
      ...account.bind(addMembers, { channel, ids: JSON.stringify(ids), at }),
      rows: ids.length,
    }),
    /** Removes all members except these agents. */
    removeOtherMembers: (channel: string, ids: string[]) =>
      account.bind(removeOtherMembers, { channel, ids: JSON.stringify(ids) }),
    /** Sets whether the person behind the agent is notified of all posts. Returns no row if it is not a member. */
    follow: (channel: string, agent: string, follows: boolean) =>
      account.bind(follow, { channel, agent, follows: Number(follows) }),
    /** Sets which posts wake a member; null for the default. Returns no row if the agent is not a member. */
    setWake: (channel: string, agent: string, wake: Wake | null) => account.bind(setWake, { channel, agent, wake }),
    removeMembers: (channel: string, ids: string[]) =>
      account.bind(removeMembers, { channel, ids: JSON.stringify(ids) }),
    requireAtMost: (channel: string, max: number) => account.bind(requireAtMost, { channel, max }),
    update: (channel: string, description: string) => account.bind(update, { channel, description }),
    removeAgent: (agent: string) => account.bind(removeAgent, { agent }),
    softDelete: (channel: string, at: number) => account.bind(softDelete, { channel, at }),
    requireLive: (channel: string) => account.bind(requireLive, { channel }),
  }),
}
