/** People's aliases: agents of type `human`. */
import { agentOf, isOfMessage } from './inbox-message.ts'
import type { Role } from '../../auth/actor.ts'
import { type AccountDb, precondition, query, type Statement, statement } from '../sql.ts'
import { addAgent } from './agent-rows.ts'
import { isNotTakenElsewhere } from './agent-columns.ts'

export interface PersonAlias {
  agentId: string
  alias: string
  description: string
  createdAt: number
  lastSeenAt: number | null
}

/** The facts that decide what a member of the account may read. */
interface ReaderRow {
  role: Role
  memberSince: number
  /** Since when owners and admins can read what agents write to each other; null if they cannot. */
  peopleReadSince: number | null
  agentId: string | null
  alias: string | null
  /** JSON array: the id of each channel of the person alias, and when it joined. */
  channels: string
}

/** The other end of a message to or from an agent: a channel or another agent. */
interface OtherEnd {
  /** The channel's name with `#`, or the alias that the agent had when the message was sent, with `@`. */
  name: string
  /** The current alias of an agent of this account; null if the agent was deleted. */
  aliasNow: string | null
  /** 1 for a channel, and for an agent of another account. */
  isElsewhere: number
}

const joinLiveAgent =
  `JOIN agents ON agents.account_id = person_aliases.account_id AND agents.id = person_aliases.agent_id
    AND agents.deleted_at IS NULL`
const ofMember = query<PersonAlias>(`
  SELECT agents.id AS agent_id, agents.alias, agents.description, agents.created_at, agents.last_seen_at
  FROM person_aliases ${joinLiveAgent}
  WHERE person_aliases.account_id = :account AND person_aliases.user_id = :user`)
const given = query<{ n: number }>(`
  SELECT count(*) AS n FROM agents WHERE account_id = :account AND type = 'human' AND deleted_at > :since`)
const holder = query<{ userId: string; name: string; email: string }>(`
  SELECT users.id AS user_id, users.name, users.email FROM person_aliases JOIN users ON users.id = person_aliases.user_id
  WHERE person_aliases.account_id = :account AND person_aliases.agent_id = :agent`)
const reader = query<ReaderRow>(`
  SELECT memberships.role, memberships.created_at AS member_since, accounts.people_read_since, agents.id AS agent_id, agents.alias, (
    SELECT json_group_array(json_array(channel_members.channel_id, channel_members.joined_at)) FROM channel_members
    WHERE channel_members.account_id = person_aliases.account_id AND channel_members.agent_id = person_aliases.agent_id) AS channels
  FROM memberships
  JOIN accounts ON accounts.id = memberships.account_id
  LEFT JOIN person_aliases ON person_aliases.account_id = memberships.account_id AND person_aliases.user_id = memberships.user_id
  LEFT ${joinLiveAgent}
  WHERE memberships.account_id = :account AND memberships.user_id = :user`)

const isDelivery = `messages.seq = deliveries.seq`
const joinOwnLiveAgent = (id: string) =>
  `LEFT JOIN agents ON agents.account_id = :account AND agents.id = ${id} AND agents.deleted_at IS NULL`
const writer = query<OtherEnd>(`
  SELECT iif(messages.channel_id IS NULL, '@' || messages.from_alias, messages.recipient) AS name,
    agents.alias AS alias_now,
    messages.channel_id IS NOT NULL OR messages.account_id <> deliveries.account_id AS is_elsewhere
  FROM deliveries
  JOIN messages ON ${isDelivery}
  ${joinOwnLiveAgent('messages.from_agent_id')}
  WHERE ${isOfMessage('= :message')}`)
const recipient = query<OtherEnd>(`
  SELECT messages.recipient AS name, agents.alias AS alias_now,
    messages.channel_id IS NOT NULL OR deliveries.account_id <> messages.account_id AS is_elsewhere
  FROM messages
  LEFT JOIN deliveries ON ${isDelivery} AND messages.channel_id IS NULL
  ${joinOwnLiveAgent(agentOf())}
  WHERE messages.account_id = :account AND messages.from_agent_id = :agent AND messages.id = :message`)

const ofUser = `account_id = :account AND user_id = :user`
const requirePersonAlias = precondition(`EXISTS (SELECT 1 FROM person_aliases WHERE ${ofUser} AND agent_id = :agent)`)
const requireNoOther = precondition(`NOT EXISTS (SELECT 1 FROM person_aliases WHERE ${ofUser} AND agent_id <> :agent)`)
const add = statement(`
  INSERT INTO person_aliases (account_id, user_id, agent_id) VALUES (:account, :user, :agent) ON CONFLICT DO NOTHING`)
const remove = statement(`DELETE FROM person_aliases WHERE ${ofUser}`)

const isLiveAgent = `account_id = :account AND id = :agent AND deleted_at IS NULL`
// A deleted agent that reserves the alias, as every deleted agent does.
const keepAlias = addAgent(
  `(account_id, id, alias, type, visibility, access_policy, created_at, deleted_at, last_seen_at)
  SELECT account_id, :keeper, alias, type, visibility, access_policy, created_at, :at, last_seen_at
  FROM agents WHERE ${isLiveAgent} AND alias <> :alias
  ON CONFLICT DO NOTHING`,
  'agents.account_id = :account AND agents.id = :keeper',
)
const rename = statement(`
  UPDATE agents SET alias = :alias, description = :description WHERE ${isLiveAgent} AND ${isNotTakenElsewhere}`)
const requireAlias = precondition(`EXISTS (SELECT 1 FROM agents WHERE ${isLiveAgent} AND alias = :alias)`)

export const personAliases = {
  reads: (account: AccountDb) => ({
    ofMember: (user: string): Promise<PersonAlias | undefined> => account.one(ofMember, { user }),
    givenUpSince: async (since: number) => (await account.one(given, { since }))!.n,
    holder: (agent: string) => account.one(holder, { agent }),
    /** The sender of a message to an agent. A different agent may now have the sender's alias. */
    writer: (agent: string, message: string): Promise<OtherEnd | undefined> => account.one(writer, { agent, message }),
    recipient: (agent: string, message: string): Promise<OtherEnd | undefined> =>
      account.one(recipient, { agent, message }),
    reader: (user: string): Promise<ReaderRow | undefined> => account.one(reader, { user }),
  }),
  changes: (account: AccountDb) => ({
    /** The agent must exist. Does nothing if the user has a person alias. */
    add: (user: string, agent: string): Statement => account.bind(add, { user, agent }),
    remove: (user: string): Statement => account.bind(remove, { user }),
    requirePersonAlias: (user: string, agent: string): Statement => account.bind(requirePersonAlias, { user, agent }),
    requireNoOther: (user: string, agent: string | undefined): Statement =>
      account.bind(requireNoOther, { user, agent: agent ?? '' }),
    /**
     * Changes a person's alias and description. `keeper` is the id of the deleted agent that reserves the former alias.
     */
    rename: (
      { agent, alias, description, keeper }: { agent: string; alias: string; description: string; keeper: string },
      at: number,
    ): Statement[] => [
      ...keepAlias.map((statement) => account.bind(statement, { agent, alias, keeper, at })),
      account.bind(rename, { agent, alias, description }),
      account.bind(requireAlias, { agent, alias }),
    ],
  }),
}
