import { and, count, eq, exists, gt, isNull, notExists, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, channelMembers, channels } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope, value } from '../driver/binding.ts'
import { hasText } from './has-text.ts'

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
  const byName = db.select({ ...fields, isMember, memberCount: count(channelMembers.agentId) }).from(channels)
    .leftJoin(channelMembers, membersOf)
    .where(own(channels, eq(channels.name, p('name')), live)).groupBy(channels.id).prepare()

  const ofAgent = db.select({ ...fields, memberCount: count(channelMembers.agentId) }).from(channels)
    .innerJoin(
      member,
      and(
        eq(member.accountId, channels.accountId),
        eq(member.channelId, channels.id),
        eq(member.agentId, p('agent')),
      ),
    )
    .innerJoin(channelMembers, membersOf)
    .where(own(channels, live)).groupBy(channels.id).orderBy(channels.name).prepare()

  const memberAliases = db.select({ channelId: channelMembers.channelId, alias: agents.alias }).from(channelMembers)
    .innerJoin(
      member,
      and(
        eq(member.accountId, channelMembers.accountId),
        eq(member.channelId, channelMembers.channelId),
        eq(member.agentId, p('agent')),
      ),
    )
    .innerJoin(agents, and(eq(agents.accountId, channelMembers.accountId), eq(agents.id, channelMembers.agentId)))
    .where(own(channelMembers, isNull(agents.deletedAt))).orderBy(agents.alias).prepare()

  const details = {
    ...fields,
    externalIntegrationType: channels.externalIntegrationType,
    externalChannelName: channels.externalChannelName,
    createdAt: channels.createdAt,
    memberCount: count(channelMembers.agentId),
  }
  const page = db.select(details).from(channels).leftJoin(channelMembers, membersOf)
    .where(own(channels, live, gt(channels.name, p('after')))).groupBy(channels.id).orderBy(channels.name)
    .limit(p('limit')).prepare()
  const total = db.select({ n: count() }).from(channels).where(own(channels, live)).prepare()
  const byRef = db.select(details).from(channels).leftJoin(channelMembers, membersOf)
    .where(own(channels, live, sql`(${channels.id} = ${p('ref')} OR ${channels.name} = ${p('name')})`))
    .groupBy(channels.id).prepare()

  const members = db.select({
    id: agents.id,
    alias: agents.alias,
    type: agents.type,
    description: agents.description,
    joinedAt: channelMembers.joinedAt,
  }).from(channelMembers)
    .innerJoin(agents, and(eq(agents.accountId, channelMembers.accountId), eq(agents.id, channelMembers.agentId)))
    .where(own(channelMembers, eq(channelMembers.channelId, p('channel')), isNull(agents.deletedAt)))
    .orderBy(agents.alias).limit(p('limit')).offset(p('offset')).prepare()
  const isOutside = notExists(
    db.select({ one: sql`1` }).from(member)
      .where(and(
        eq(member.accountId, agents.accountId),
        eq(member.channelId, p('channel')),
        eq(member.agentId, agents.id),
      )),
  )
  const outside = db.select({ id: agents.id, alias: agents.alias, description: agents.description }).from(agents)
    .where(own(agents, isNull(agents.deletedAt), isOutside, hasText(agents.alias, agents.description)))
    .orderBy(agents.alias).limit(p('limit')).prepare()

  // Counted for the rows of one page alone.
  const memberCount = sql<number>`(${db.select({ n: count() }).from(channelMembers).where(membersOf)})`
    .as('member_count')
  const isFound = own(channels, live, hasText(channels.name, channels.description))
  const found = db.select({ ...fields, memberCount, createdAt: channels.createdAt }).from(channels).where(isFound)
    .orderBy(channels.name).limit(p('limit')).offset(p('offset')).prepare()
  const foundTotal = db.select({ n: count() }).from(channels).where(isFound).prepare()

  const update = db.update(channels).set({ description: sql`${p('description')}` })
    .where(own(channels, eq(channels.id, p('channel')), live)).toSQL()
  const softDelete = db.update(channels).set({ deletedAt: sql`${p('at')}` })
    .where(own(channels, eq(channels.id, p('channel')), live)).toSQL()
  const requireLive = demand(
    db,
    exists(db.select({ one: sql`1` }).from(channels).where(own(channels, eq(channels.id, p('channel')), live))),
  )
  const removeMembers = db.delete(channelMembers).where(own(channelMembers, eq(channelMembers.channelId, p('channel'))))
    .toSQL()
  const removeAgent = db.delete(channelMembers).where(own(channelMembers, eq(channelMembers.agentId, p('agent'))))
    .toSQL()
  const removeSome = db.delete(channelMembers).where(own(
    channelMembers,
    eq(channelMembers.channelId, p('channel')),
    sql`${channelMembers.agentId} IN (SELECT value FROM json_each(${p('ids')}))`,
  )).toSQL()
  const inChannel = db.select({ n: count() }).from(channelMembers)
    .where(own(channelMembers, eq(channelMembers.channelId, p('channel'))))
  const requireAtMost = demand(db, sql`(${inChannel}) <= ${p('max')}`)
  const addMembers = db.insert(channelMembers).select(
    db.select({
      accountId: agents.accountId,
      channelId: value('channel'),
      agentId: agents.id,
      joinedAt: value<number>('at'),
    }).from(agents)
      .where(own(agents, isNull(agents.deletedAt), sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`)),
  ).onConflictDoNothing().toSQL()
  const add = db.insert(channels).values(mine({
    id: p('id'),
    name: p('name'),
    description: p('description'),
    createdAt: p('at'),
  })).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** A live channel of the account, and whether `agent` is in it. */
      byName: (name: string, agent: string) => scope.one(byName, { name, agent }),
      /** Live channels by name, from behind the name `after`. */
      page: (after: string, limit: number) => scope.all(page, { after, limit }),
      total: async () => (await scope.one(total))!.n,
      /** By id or by name. */
      byRef: (ref: string, name: string) => scope.one(byRef, { ref, name }),
      /** The channels an agent is in, by name. */
      ofAgent: (agent: string) => scope.all(ofAgent, { agent }),
      /** The members of every channel an agent is in, by alias. */
      memberAliases: (agent: string) => scope.all(memberAliases, { agent }),
      /** The members of a channel, by alias. */
      members: (channel: string, limit: number, offset = 0) => scope.all(members, { channel, limit, offset }),
      /** Live agents that are not in a channel and have `search` in alias or description, by alias. */
      outside: (channel: string, search: string, limit: number) => scope.all(outside, { channel, search, limit }),
      /** Live channels that have `search` in name or description, by name. */
      found: (search: string, limit: number, offset: number) => scope.all(found, { search, limit, offset }),
      foundTotal: async (search: string) => (await scope.one(foundTotal, { search }))!.n,
    }),
    changes: (scope: Scope) => ({
      /** A constraint error when a live channel has the name. */
      add: (channel: { id: string; name: string; description: string }, at: number) =>
        scope.bind(add, { ...channel, at }),
      /** Agents of the account by id; members already are left as they are, and those that do not live out: demand them. */
      addMembers: (channel: string, ids: string[], at: number) => ({
        ...scope.bind(addMembers, { channel, ids: JSON.stringify(ids), at }),
        rows: ids.length,
      }),
      removeMembers: (channel: string) => scope.bind(removeMembers, { channel }),
      /** Take these agents out of a channel. */
      removeSome: (channel: string, ids: string[]) => scope.bind(removeSome, { channel, ids: JSON.stringify(ids) }),
      /** Fails the unit when the channel has more members than `max` after it. */
      requireAtMost: (channel: string, max: number) => scope.bind(requireAtMost, { channel, max }),
      update: (channel: string, description: string) => scope.bind(update, { channel, description }),
      /** Take an agent out of every channel. */
      removeAgent: (agent: string) => scope.bind(removeAgent, { agent }),
      softDelete: (channel: string, at: number) => scope.bind(softDelete, { channel, at }),
      /** Fails the unit unless the channel lives when it runs. */
      requireLive: (channel: string) => scope.bind(requireLive, { channel }),
    }),
  }
}
