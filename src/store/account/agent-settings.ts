/** Agents as listed and configured on the account's pages, with more fields than `Agent` has. */
import {
  type AccountDb,
  boolean,
  contains,
  crossAccountStatement,
  matchesSearchText,
  precondition,
  query,
  statement,
  updatedToken,
} from '../sql.ts'
import { inboxOf, unreadOf } from './inbox-message.ts'
import { agentColumns, agentSearch, isTaken, skillsAsJson } from './agent-columns.ts'
import type { Agent, CallersWait, TokenColumns } from './agents.ts'

type AgentChange = Pick<Agent, 'visibility' | 'accessPolicy' | 'description' | 'remoteUrl'> & {
  messageReplies?: boolean
  callersWait?: CallersWait
}

/** `oldest`: by the oldest unread message, with agents without unread messages last. `seen`: by the last call. */
export type AgentOrder = 'alias' | 'oldest' | 'unread' | 'seen'

export interface AgentPlace {
  place: number
  alias: string
}

const firstPlace: AgentPlace = { place: Number.MIN_SAFE_INTEGER, alias: '' }

/** An agent in a list. `skills` is JSON; `total` is the number of agents on all pages of a search. */
interface ListedAgent extends Agent {
  skills: string
  unread: number
  oldestUnreadAt: number | null
  place: number
  total: number
}

// A literal instead of a parameter, because only then may the planner use the partial index.
const fromUnread = `FROM deliveries WHERE deliveries.inbox = ${inboxOf('agents.id')} AND deliveries.state = 'unread'`
const unread = unreadOf('agents.id')
// Like `matchesSearch`, but queries the skills only once for all of the page's agents.
const matches = matchesSearchText(
  ['agents.alias', 'agents.description'],
  `agents.id IN (SELECT agent_skills.agent_id FROM agent_skills WHERE agent_skills.account_id = :account
    AND agent_skills.skill_id IN (
      SELECT skills.id FROM skills WHERE skills.account_id = :account AND ${contains('skills.name')}))`,
)
const liveOnes = `agents WHERE agents.account_id = :account AND agents.deleted_at IS NULL`

const select = (hits: string) =>
  // A cross join fixes the join order. Otherwise the planner scans the agents of all accounts by alias.
  query<ListedAgent>(`
    SELECT ${agentColumns}, ${skillsAsJson} AS skills, ${unread} AS unread,
      (SELECT deliveries.created_at ${fromUnread} ORDER BY deliveries.seq LIMIT 1) AS oldest_unread_at,
      hits.place, hits.total
    FROM (${hits}) AS hits CROSS JOIN agents
    WHERE agents.account_id = :account AND agents.id = hits.id
    ORDER BY hits.place, agents.alias`)
// One pass finds each agent's position and the total.
const placed = (place: string, total: string, condition: string, kept = 'NOT MATERIALIZED') =>
  select(`
    WITH placed AS ${kept} (
      SELECT agents.id, agents.alias, ${place} AS place, ${total} AS total FROM agents
      LEFT JOIN agent_numbers AS numbers ON numbers.account_id = agents.account_id AND numbers.agent_id = agents.id
      WHERE agents.account_id = :account AND agents.deleted_at IS NULL AND ${condition})
    SELECT id, place, total FROM placed WHERE (place, alias) > (:place, :after)
    ORDER BY place, alias LIMIT :limit`)
// Without this condition, the planner reads all agents by their ids, including deleted ones.
const byAlias = `agents.alias > ''`
const list = (place: string, kept?: 'MATERIALIZED') => placed(place, '0', byAlias, kept)
const search = (place: string, condition: string) => placed(place, 'count(*) OVER ()', condition)
const places: Record<AgentOrder, string> = {
  alias: '0',
  // Skips the inboxes of agents without unread messages, because most agents have none.
  oldest: `coalesce(iif(numbers.unread > 0, (SELECT min(deliveries.seq) FROM deliveries
    WHERE deliveries.inbox = numbers.n AND deliveries.state = 'unread'), NULL), ${Number.MAX_SAFE_INTEGER})`,
  unread: '-coalesce(numbers.unread, 0)',
  seen: '-coalesce(agents.last_seen_at, 0)',
}
const lists = {
  alias: select(`SELECT agents.id, 0 AS place, 0 AS total FROM ${liveOnes} AND agents.alias > :after
    ORDER BY agents.alias LIMIT :limit`),
  // Materialized, because otherwise each inbox would be searched three times.
  oldest: list(places.oldest, 'MATERIALIZED'),
  unread: list(places.unread),
  seen: list(places.seen),
}
const searches = {
  alias: search(places.alias, `${byAlias} AND ${matches}`),
  oldest: search(places.oldest, `${byAlias} AND ${matches}`),
  unread: search(places.unread, `${byAlias} AND ${matches}`),
  seen: search(places.seen, `${byAlias} AND ${matches}`),
}
/** A condition that restricts the search to the agents that the index found. */
const isAmong = `agents.id IN (SELECT value FROM json_each(:ids))`
const searchesAmong = {
  alias: search(places.alias, `${isAmong} AND ${matches}`),
  oldest: search(places.oldest, `${isAmong} AND ${matches}`),
  unread: search(places.unread, `${isAmong} AND ${matches}`),
  seen: search(places.seen, `${isAmong} AND ${matches}`),
}
const byId = query<{
  hasRemoteToken: number
  messageReplies: boolean
  callersWait: CallersWait
  signupAddress: string | null
  signupEmail: string | null
}>(
  `
  SELECT agents.encrypted_token IS NOT NULL AS has_remote_token, agents.message_replies, agents.callers_wait,
    signups.address AS signup_address, signups.owner_email AS signup_email
  FROM agents
  LEFT JOIN signups ON signups.account_id = agents.account_id AND signups.id = agents.signup_id
  WHERE agents.account_id = :account AND agents.id = :id`,
  { messageReplies: boolean },
)
const accessList = query<{ alias: string; pending: boolean }>(
  `SELECT alias, pending FROM agent_access WHERE account_id = :account AND agent_id = :id ORDER BY alias`,
  { pending: boolean },
)

const update = statement(`
  UPDATE agents SET visibility = :visibility, access_policy = :accessPolicy, description = :description,
    remote_url = :remoteUrl, message_replies = coalesce(:messageReplies, message_replies),
    callers_wait = coalesce(:callersWait, callers_wait)
  WHERE account_id = :account AND id = :id AND deleted_at IS NULL`)
// A new server has a different card and does not know messages that the old one accepted, so the state is reset.
const isElsewhere = `EXISTS (SELECT 1 FROM agents WHERE agents.account_id = :account AND agents.id = :id
  AND agents.deleted_at IS NULL AND agents.remote_url IS NOT :remoteUrl)`
const leaveServer = [
  `UPDATE remote_agents SET card = NULL, card_at = NULL
  WHERE account_id = :account AND agent_id = :id AND ${isElsewhere}`,
  `UPDATE remote_tasks SET state = 'ended', due_at = NULL, context_id = NULL
  WHERE account_id = :account AND agent_id = :id AND ${isElsewhere}`,
].map(statement)
const setToken = statement(`
  UPDATE agents SET ${updatedToken}
  WHERE account_id = :account AND id = :id AND deleted_at IS NULL`)
const requireNoToken = precondition(`EXISTS (
  SELECT 1 FROM agents WHERE agents.account_id = :account AND agents.id = :id AND agents.encrypted_token IS NULL)`)
const keepAccess = statement(`
  DELETE FROM agent_access WHERE account_id = :account AND agent_id = :id
    AND alias NOT IN (SELECT value FROM json_each(:aliases))`)
const confirmAccess = crossAccountStatement(
  'confirmation of an alias',
  `
  UPDATE agent_access SET pending = 0
  WHERE account_id = :account AND agent_id = :id AND alias = :alias AND ${isTaken(':alias')}
  RETURNING alias`,
)
const removeAccess = statement(`
  DELETE FROM agent_access WHERE account_id = :account AND agent_id = :id AND alias = :alias`)

export const agentSettings = {
  reads: (account: AccountDb) => ({
    /** A page of live agents. `after` is the last agent of the previous page. `total` is 0 without a search. */
    list: async (
      { order, search = '', after = firstPlace, limit }: {
        order: AgentOrder
        search?: string
        after?: AgentPlace
        limit: number
      },
    ) => {
      const from = { place: after.place, after: after.alias, limit }
      if (search === '') return await account.all(lists[order], from)
      const ids = await agentSearch.reads(account).candidates(search)
      if (!ids) return await account.all(searches[order], { ...from, search })
      return await account.all(searchesAmong[order], { ...from, search, ids: JSON.stringify(ids) })
    },
    async byId(id: string) {
      const row = (await account.one(byId, { id }))!
      return { ...row, hasRemoteToken: row.hasRemoteToken === 1 }
    },
    accessList: (id: string) => account.all(accessList, { id }),
  }),
  changes: (account: AccountDb) => ({
    /** `messageReplies` and `callersWait` stay unchanged if they are undefined. */
    update: (
      id: string,
      { visibility, accessPolicy, description, remoteUrl, messageReplies, callersWait }: AgentChange,
    ) => [
      ...(remoteUrl === null ? [] : leaveServer.map((statement) => account.bind(statement, { id, remoteUrl }))),
      account.bind(update, {
        id,
        visibility,
        accessPolicy,
        description,
        remoteUrl,
        messageReplies: messageReplies ?? null,
        callersWait: callersWait ?? null,
      }),
    ],
    setToken: (id: string, token: TokenColumns) => account.bind(setToken, { id, ...token }),
    requireNoToken: (id: string) => account.bind(requireNoToken, { id }),
    /** Removes all other aliases from the access list. */
    keepAccess: (id: string, aliases: string[]) => account.bind(keepAccess, { id, aliases: JSON.stringify(aliases) }),
    /** Returns no row if the alias is not on the list, or no agent has it. */
    confirmAccess: (id: string, alias: string) => account.bind(confirmAccess, { id, alias }),
    removeAccess: (id: string, alias: string) => account.bind(removeAccess, { id, alias }),
  }),
}
