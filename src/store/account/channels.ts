import { and, count, eq, exists, gt, isNull, notExists, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, channelMembers, channels } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account-old.ts'
import { guardsOfPost } from './guarding.ts'
import { matchesSearchText } from './search-old.ts'

export function prepareChannels(db: Db) {
  const live = isNull(channels.deletedAt)
  const member = alias(channelMembers, 'member')
  const membersOf = and(eq(channelMembers.accountId, channels.accountId), eq(channelMembers.channelId, channels.id))
  const fields = { id: channels.id, name: channels.name, description: channels.description }

  const isMember = exists(
    db.select({ one: sql`1` }).from(member)
      .where(and(
        eq(member.accountId, channels.accountId),
        eq(member.channelId, channels.id),
        eq(member.agentId, p('agent')),
      )),
  ) as SQL<number>
  const byName = db.select({
    ...fields,
    isMember,
    memberCount: count(channelMembers.agentId),
    guards: guardsOfPost(p('agent'), channels),
  }).from(channels)
    .leftJoin(channelMembers, membersOf)
    .where(inAccount(channels, eq(channels.name, p('name')), live)).groupBy(channels.id).prepare()

  // A subquery, so that only the rows of the page are counted.
  const memberCount = sql<number>`(${db.select({ n: count() }).from(channelMembers).where(membersOf)})`
    .as('member_count')
  // The aliases of a channel are read in its row, so that a page reads no more members than it shows.
  const aliases = db.select({ json: sql`json_group_array(${agents.alias})` }).from(channelMembers)
    .innerJoin(agents, and(eq(agents.accountId, channelMembers.accountId), eq(agents.id, channelMembers.agentId)))
    .where(and(membersOf, isNull(agents.deletedAt)))
  const ofAgent = db.select({ ...fields, members: sql<string>`(${aliases})`.as('members') }).from(channels)
    .innerJoin(
      member,
      and(
        eq(member.accountId, channels.accountId),
        eq(member.channelId, channels.id),
        eq(member.agentId, p('agent')),
      ),
    )
    .where(inAccount(channels, live, gt(channels.name, p('after')))).orderBy(channels.name).limit(p('limit')).prepare()

  const joined = db.select({ id: channels.id, name: channels.name }).from(member)
    .innerJoin(channels, and(eq(channels.accountId, member.accountId), eq(channels.id, member.channelId), live))
    .where(inAccount(member, eq(member.agentId, p('agent')))).orderBy(channels.name).limit(p('limit')).prepare()

  const details = {
    ...fields,
    externalIntegrationType: channels.externalIntegrationType,
    externalChannelName: channels.externalChannelName,
    createdAt: channels.createdAt,
    memberCount: count(channelMembers.agentId),
  }
  const page = db.select({ ...details, memberCount }).from(channels)
    .where(inAccount(channels, live, gt(channels.name, p('after')))).orderBy(channels.name).limit(p('limit')).prepare()
  const total = db.select({ n: count() }).from(channels).where(inAccount(channels, live)).prepare()
  const byRef = db.select(details).from(channels).leftJoin(channelMembers, membersOf)
    .where(inAccount(channels, live, sql`(${channels.id} = ${p('ref')} OR ${channels.name} = ${p('name')})`))
    .groupBy(channels.id).prepare()

  const members = db.select({
    id: agents.id,
    alias: agents.alias,
    type: agents.type,
    description: agents.description,
    joinedAt: channelMembers.joinedAt,
  }).from(channelMembers)
    .innerJoin(agents, and(eq(agents.accountId, channelMembers.accountId), eq(agents.id, channelMembers.agentId)))
    .where(inAccount(channelMembers, eq(channelMembers.channelId, p('channel')), isNull(agents.deletedAt)))
    .orderBy(agents.alias).limit(p('limit')).offset(p('offset')).prepare()
  const isNonMember = notExists(
    db.select({ one: sql`1` }).from(member)
      .where(and(
        eq(member.accountId, agents.accountId),
        eq(member.channelId, p('channel')),
        eq(member.agentId, agents.id),
      )),
  )
  const nonMembers = db.select({ id: agents.id, alias: agents.alias, description: agents.description }).from(agents)
    .where(
      inAccount(agents, isNull(agents.deletedAt), isNonMember, matchesSearchText([agents.alias, agents.description])),
    )
    .orderBy(agents.alias).limit(p('limit')).prepare()

  const isFound = inAccount(channels, live, matchesSearchText([channels.name, channels.description]))
  const searchQuery = db.select({ ...fields, memberCount, createdAt: channels.createdAt }).from(channels).where(isFound)
    .orderBy(channels.name).limit(p('limit')).offset(p('offset')).prepare()
  const searchTotal = db.select({ n: count() }).from(channels).where(isFound).prepare()

  const update = db.update(channels).set({ description: sql`${p('description')}` })
    .where(inAccount(channels, eq(channels.id, p('channel')), live)).toSQL()
  const softDelete = db.update(channels).set({ deletedAt: sql`${p('at')}` })
    .where(inAccount(channels, eq(channels.id, p('channel')), live)).toSQL()
  const requireLive = precondition(
    db,
    exists(db.select({ one: sql`1` }).from(channels).where(inAccount(channels, eq(channels.id, p('channel')), live))),
  )
  const removeAllMembers = db.delete(channelMembers).where(
    inAccount(channelMembers, eq(channelMembers.channelId, p('channel'))),
  )
    .toSQL()
  const removeAgent = db.delete(channelMembers).where(inAccount(channelMembers, eq(channelMembers.agentId, p('agent'))))
    .toSQL()
  const removeMembers = db.delete(channelMembers).where(inAccount(
    channelMembers,
    eq(channelMembers.channelId, p('channel')),
    sql`${channelMembers.agentId} IN (SELECT value FROM json_each(${p('ids')}))`,
  )).toSQL()
  const inChannel = db.select({ n: count() }).from(channelMembers)
    .where(inAccount(channelMembers, eq(channelMembers.channelId, p('channel'))))
  const requireAtMost = precondition(db, sql`(${inChannel}) <= ${p('max')}`)
  const addMembers = db.insert(channelMembers).select(
    db.select({
      accountId: agents.accountId,
      channelId: value('channel'),
      agentId: agents.id,
      joinedAt: value<number>('at'),
    }).from(agents)
      .where(
        inAccount(agents, isNull(agents.deletedAt), sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`),
      ),
  ).onConflictDoNothing().toSQL()
  const add = db.insert(channels).values(withAccount({
    id: p('id'),
    name: p('name'),
    description: p('description'),
    createdAt: p('at'),
  })).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** A live channel of the account, whether `agent` is a member, and whether guardrails check what it posts. */
      byName: (name: string, agent: string) => account.one(byName, { name, agent }),
      /** Live channels by name, after the name `after`. */
      page: (after: string, limit: number) => account.all(page, { after, limit }),
      total: async () => (await account.one(total))!.n,
      /** By id or by name. */
      byRef: (ref: string, name: string) => account.one(byRef, { ref, name }),
      /** The channels of an agent by name, after the name `after`; `members` is JSON of the aliases, in no order. */
      ofAgent: (agent: string, after: string, limit: number) => account.all(ofAgent, { agent, after, limit }),
      /** The channels of an agent by name, without their members. */
      joined: (agent: string, limit: number) => account.all(joined, { agent, limit }),
      /** The members of a channel, by alias. */
      members: (channel: string, limit: number, offset = 0) => account.all(members, { channel, limit, offset }),
      /** Live agents that are not members and have `search` in alias or description, by alias. */
      nonMembers: (channel: string, search: string, limit: number) =>
        account.all(nonMembers, { channel, search, limit }),
      /** Live channels that have `search` in name or description, by name. */
      search: (search: string, limit: number, offset: number) => account.all(searchQuery, { search, limit, offset }),
      searchTotal: async (search: string) => (await account.one(searchTotal, { search }))!.n,
    }),
    changes: (account: AccountBinding) => ({
      /** A constraint error if a live channel has the name. */
      add: (channel: { id: string; name: string; description: string }, at: number) =>
        account.bind(add, { ...channel, at }),
      /** Skips members, and agents that are not live: require them with `agents.requireLive`. */
      addMembers: (channel: string, ids: string[], at: number) => ({
        ...account.bind(addMembers, { channel, ids: JSON.stringify(ids), at }),
        rows: ids.length,
      }),
      removeAllMembers: (channel: string) => account.bind(removeAllMembers, { channel }),
      removeMembers: (channel: string, ids: string[]) =>
        account.bind(removeMembers, { channel, ids: JSON.stringify(ids) }),
      /** Fails the unit if the channel has more than `max` members when it runs. */
      requireAtMost: (channel: string, max: number) => account.bind(requireAtMost, { channel, max }),
      update: (channel: string, description: string) => account.bind(update, { channel, description }),
      /** Remove an agent from every channel. */
      removeAgent: (agent: string) => account.bind(removeAgent, { agent }),
      softDelete: (channel: string, at: number) => account.bind(softDelete, { channel, at }),
      /** Fails the unit unless the channel is live when it runs. */
      requireLive: (channel: string) => account.bind(requireLive, { channel }),
    }),
  }
}
