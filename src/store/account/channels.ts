import { and, count, eq, exists, gt, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, channelMembers, channels } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope, value } from '../bound.ts'

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
  const addMembers = db.insert(channelMembers).select(
    db.select({
      accountId: agents.accountId,
      channelId: value('channel'),
      agentId: agents.id,
      joinedAt: value<number>('at'),
    }).from(agents)
      .where(own(agents, isNull(agents.deletedAt), sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`)),
  ).toSQL()
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
    }),
    changes: (scope: Scope) => ({
      /** A constraint error when a live channel has the name. */
      add: (channel: { id: string; name: string; description: string }, at: number) =>
        scope.bind(add, { ...channel, at }),
      /** Agents of the account by id; those that do not live are left out, so demand them first. */
      addMembers: (channel: string, ids: string[], at: number) => ({
        ...scope.bind(addMembers, { channel, ids: JSON.stringify(ids), at }),
        rows: ids.length,
      }),
      removeMembers: (channel: string) => scope.bind(removeMembers, { channel }),
      /** Take an agent out of every channel. */
      removeAgent: (agent: string) => scope.bind(removeAgent, { agent }),
      softDelete: (channel: string, at: number) => scope.bind(softDelete, { channel, at }),
      /** Fails the unit unless the channel lives when it runs. */
      requireLive: (channel: string) => scope.bind(requireLive, { channel }),
    }),
  }
}
