import { and, count, eq, exists, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, channelMembers, channels } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { mine, own, p, type Scope } from '../bound.ts'

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

  const add = db.insert(channels).values(mine({
    id: p('id'),
    name: p('name'),
    description: p('description'),
    createdAt: p('at'),
  })).toSQL()
  const addMember = db.insert(channelMembers)
    .values(mine({ channelId: p('channel'), agentId: p('agent'), joinedAt: p('at') })).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** A live channel of the account, and whether `agent` is in it. */
      byName: (name: string, agent: string) => scope.one(byName, { name, agent }),
      /** The channels an agent is in, by name. */
      ofAgent: (agent: string) => scope.all(ofAgent, { agent }),
      /** The members of every channel an agent is in, by alias. */
      memberAliases: (agent: string) => scope.all(memberAliases, { agent }),
    }),
    changes: (scope: Scope) => ({
      /** A constraint error when a live channel has the name. */
      add: (channel: { id: string; name: string; description: string }, at: number) =>
        scope.bind(add, { ...channel, at }),
      addMember: (channel: string, agent: string, at: number) => scope.bind(addMember, { channel, agent, at }),
    }),
  }
}
