/** Agents as the pages of the account list and configure them, with more fields than `Agent` has. */
import { and, asc, count, eq, exists, gt, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { agentAccess, agents, agentSkills, deliveries, signups, skills } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { updatedToken } from '../driver/sealed-columns-old.ts'
import { inAccount, inInbox } from '../in-account-old.ts'
import { type Agent, agentFields, skillsAsJson, type TokenColumns } from './agents.ts'
import { contains, matchesSearchText } from './search-old.ts'

/** The settings of an agent that can be changed after its creation. */
export type AgentChange = Pick<Agent, 'visibility' | 'accessPolicy' | 'description' | 'remoteUrl'> & {
  /** Undefined: as it was. */
  messageReplies?: boolean
}

/** Lists count unread messages of an agent up to here: the number stands for itself or more. */
export const maxListedUnread = 1_000

/** By alias; by the oldest unread message, with those that have none last; by how many are unread; by the last call. */
export type AgentOrder = 'alias' | 'oldest' | 'unread' | 'seen'

/** Where an agent stands in an order. */
export interface AgentPlace {
  place: number
  alias: string
}

const firstPlace: AgentPlace = { place: Number.MIN_SAFE_INTEGER, alias: '' }

export function prepareAgentSettings(db: Db) {
  const live = isNull(agents.deletedAt)
  // Written out, not bound: only then may the planner use the partial index.
  const isUnread = inInbox(sql`${agents.id}`, sql`${deliveries.state} = 'unread'`)
  const someUnread = db.select({ one: sql`1`.as('one') }).from(deliveries).where(isUnread).limit(maxListedUnread)
    .as('some_unread')
  const unread = sql<number>`(${db.select({ n: count() }).from(someUnread)})`
  const oldestUnread = db.select({ seq: sql`min(${deliveries.seq})` }).from(deliveries).where(isUnread)
  const oldestUnreadAt = db.select({ at: deliveries.createdAt }).from(deliveries).where(isUnread)
    .orderBy(deliveries.seq).limit(1)
  // Like `matchesSearch`, but the skills are searched once and not for each agent, because the page lists all agents.
  const matchingSkills = db.select({ id: skills.id }).from(skills).where(inAccount(skills, contains(skills.name)))
  const agentsWithMatch = db.select({ id: agentSkills.agentId }).from(agentSkills)
    .where(inAccount(agentSkills, inArray(agentSkills.skillId, matchingSkills)))
  const matches = matchesSearchText([agents.alias, agents.description], inArray(agents.id, agentsWithMatch))
  // The order of a list is that of these numbers, and then of the aliases.
  const orders: Record<AgentOrder, SQL> = {
    alias: sql`0`,
    oldest: sql`coalesce((${oldestUnread}), ${Number.MAX_SAFE_INTEGER})`,
    unread: sql`-${unread}`,
    seen: sql`-coalesce(${agents.lastSeenAt}, 0)`,
  }
  const list = (order: SQL, condition?: SQL) => {
    // Each agent is looked at once, for its place and for the total.
    const all = db.select({
      id: agents.id,
      alias: agents.alias,
      place: sql<number>`${order}`.as('place'),
      total: sql<number>`count(*) OVER ()`.as('total'),
    }).from(agents).where(inAccount(agents, live, condition)).as('all_agents')
    const hits = db.select({ id: all.id, place: all.place, total: all.total }).from(all)
      .where(sql`(${all.place}, ${all.alias}) > (${p('place')}, ${p('after')})`)
      .orderBy(asc(all.place), all.alias).limit(p('limit')).as('hits')
    return select(hits)
  }
  type Hits = ReturnType<typeof hitsByAlias>
  const hitsByAlias = () =>
    db.select({ id: agents.id, place: sql<number>`0`.as('place'), total: sql<number>`0`.as('total') }).from(agents)
      .where(inAccount(agents, live, gt(agents.alias, p('after')))).orderBy(agents.alias).limit(p('limit')).as('hits')
  const select = (hits: Hits) =>
    // A cross join fixes the order. Otherwise the planner scans the agents of all accounts by alias.
    db.select({
      ...agentFields,
      skills: skillsAsJson(db),
      unread: sql<number>`${unread}`.as('unread'),
      oldestUnreadAt: sql<number | null>`(${oldestUnreadAt})`.as('oldest_unread_at'),
      place: hits.place,
      total: hits.total,
    }).from(hits).crossJoin(agents).where(inAccount(agents, eq(agents.id, hits.id)))
      .orderBy(asc(hits.place), agents.alias).prepare()
  const lists = {
    alias: select(hitsByAlias()),
    oldest: list(orders.oldest),
    unread: list(orders.unread),
    seen: list(orders.seen),
  }
  const searches = {
    alias: list(orders.alias, matches),
    oldest: list(orders.oldest, matches),
    unread: list(orders.unread, matches),
    seen: list(orders.seen, matches),
  }
  const byId = db.select({
    hasRemoteToken: sql<number>`${isNotNull(agents.encryptedToken)}`,
    messageReplies: agents.messageReplies,
    signupAddress: signups.address,
    signupEmail: signups.ownerEmail,
  }).from(agents)
    .leftJoin(signups, and(eq(signups.accountId, agents.accountId), eq(signups.id, agents.signupId)))
    .where(inAccount(agents, eq(agents.id, p('id')))).prepare()
  const accessList = db.select({ alias: agentAccess.alias }).from(agentAccess)
    .where(inAccount(agentAccess, eq(agentAccess.agentId, p('id')))).orderBy(agentAccess.alias).prepare()

  const ofLive = inAccount(agents, eq(agents.id, p('id')), live)
  const set = (name: string) => sql`${p(name)}`
  const update = db.update(agents).set({
    visibility: set('visibility'),
    accessPolicy: set('accessPolicy'),
    description: set('description'),
    remoteUrl: set('remoteUrl'),
    messageReplies: sql`coalesce(${p('messageReplies')}, ${agents.messageReplies})`,
  }).where(ofLive).toSQL()
  const setToken = db.update(agents).set(updatedToken).where(ofLive).toSQL()
  const withoutToken = db.select({ one: sql`1` }).from(agents)
    .where(inAccount(agents, eq(agents.id, p('id')), isNull(agents.encryptedToken)))
  const requireNoToken = precondition(db, exists(withoutToken))
  const clearAccess = db.delete(agentAccess).where(inAccount(agentAccess, eq(agentAccess.agentId, p('id')))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * Live agents in an order, those with the text in alias, description or a skill if there is one. `after` is the
       * last of the page before. `skills` is JSON; `total` is the number of agents on all pages, but 0 for all by alias.
       */
      list: (
        { order, search = '', after = firstPlace, limit }: {
          order: AgentOrder
          search?: string
          after?: AgentPlace
          limit: number
        },
      ) => {
        const from = { place: after.place, after: after.alias, limit }
        return search === '' ? account.all(lists[order], from) : account.all(searches[order], { ...from, search })
      },
      /**
       * Whether the agent has a stored token for its remote agent, whether its plain replies are messages over A2A, and
       * the client address and owner email of its signup, which are null without a signup.
       */
      async byId(id: string) {
        const row = (await account.one(byId, { id }))!
        return { ...row, hasRemoteToken: row.hasRemoteToken === 1 }
      },
      /** The aliases on its allow or block list. */
      accessList: async (id: string) => (await account.all(accessList, { id })).map(({ alias }) => alias),
    }),
    changes: (account: AccountBinding) => ({
      update: (id: string, { visibility, accessPolicy, description, remoteUrl, messageReplies }: AgentChange) =>
        account.bind(update, {
          ...{ id, visibility, accessPolicy, description, remoteUrl },
          messageReplies: messageReplies === undefined ? null : messageReplies ? 1 : 0,
        }),
      setToken: (id: string, token: TokenColumns) => account.bind(setToken, { id, ...token }),
      /** Fails the unit if the agent has a token for its remote agent when it runs. */
      requireNoToken: (id: string) => account.bind(requireNoToken, { id }),
      clearAccess: (id: string) => account.bind(clearAccess, { id }),
    }),
  }
}
