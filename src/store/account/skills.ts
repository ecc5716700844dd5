import { and, count, eq, exists, gt, isNull, sql } from 'drizzle-orm'
import { agents, agentSkills, skills } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account.ts'
import { matchesSearchText } from './search.ts'

export function prepareSkills(db: Db) {
  const fields = { id: skills.id, name: skills.name, description: skills.description }
  const list = db.select(fields).from(skills).where(inAccount(skills)).orderBy(skills.name).prepare()
  const isAfter = gt(skills.name, p('after'))
  const page = db.select(fields).from(skills).where(inAccount(skills, isAfter)).orderBy(skills.name).limit(p('limit'))
    .prepare()
  const ofAgent = db.select(fields).from(skills)
    .innerJoin(agentSkills, and(eq(agentSkills.accountId, skills.accountId), eq(agentSkills.skillId, skills.id)))
    .where(inAccount(skills, eq(agentSkills.agentId, p('agent')))).orderBy(skills.name).prepare()
  const pageOfAgent = db.select(fields).from(skills)
    .innerJoin(agentSkills, and(eq(agentSkills.accountId, skills.accountId), eq(agentSkills.skillId, skills.id)))
    .where(inAccount(skills, eq(agentSkills.agentId, p('agent')), isAfter)).orderBy(skills.name).limit(p('limit'))
    .prepare()

  const byId = db.select(fields).from(skills).where(inAccount(skills, eq(skills.id, p('id')))).prepare()
  const byName = db.select(fields).from(skills).where(inAccount(skills, eq(skills.name, p('name')))).prepare()
  const liveAgent = and(
    eq(agentSkills.accountId, agents.accountId),
    eq(agentSkills.agentId, agents.id),
    isNull(agents.deletedAt),
  )
  // A subquery, so that only the rows of the page are counted.
  const ofSkill = and(eq(agentSkills.accountId, skills.accountId), eq(agentSkills.skillId, skills.id))
  const agentCount = sql<number>`(${
    db.select({ n: count() }).from(agentSkills).innerJoin(agents, liveAgent).where(ofSkill)
  })`.as('agent_count')
  const withCounts = db.select({ ...fields, agentCount }).from(skills).where(inAccount(skills, isAfter))
    .orderBy(skills.name).limit(p('limit')).prepare()
  const isFound = inAccount(skills, matchesSearchText([skills.name, skills.description]))
  const searchQuery = db.select({ ...fields, agentCount }).from(skills).where(isFound).orderBy(skills.name)
    .limit(p('limit')).offset(p('offset')).prepare()
  const searchTotal = db.select({ n: count() }).from(skills).where(isFound).prepare()
  const hasSkill = inAccount(agentSkills, eq(agentSkills.skillId, p('skill')))
  const agentsWith = db.select({ id: agents.id, alias: agents.alias, description: agents.description })
    .from(agentSkills).innerJoin(agents, liveAgent).where(hasSkill).orderBy(agents.alias)
    .limit(p('limit')).offset(p('offset')).prepare()
  const agentsWithTotal = db.select({ n: count() }).from(agentSkills).innerJoin(agents, liveAgent).where(hasSkill)
    .prepare()

  const add = db.insert(skills).values(withAccount({
    id: p('id'),
    name: p('name'),
    description: p('description'),
    createdAt: p('at'),
  })).toSQL()
  const isSkill = inAccount(skills, eq(skills.id, p('id')))
  const update = db.update(skills).set({ name: sql`${p('name')}`, description: sql`${p('description')}` }).where(
    isSkill,
  )
    .toSQL()
  const detach = db.delete(agentSkills).where(inAccount(agentSkills, eq(agentSkills.skillId, p('id')))).toSQL()
  const remove = db.delete(skills).where(isSkill).toSQL()
  const requireExists = precondition(db, exists(db.select({ one: sql`1` }).from(skills).where(isSkill)))

  // Each statement that replaces the skills of an agent does nothing unless the agent is live.
  const agentIsLive = exists(
    db.select({ one: sql`1` }).from(agents).where(
      inAccount(agents, eq(agents.id, p('agent')), isNull(agents.deletedAt)),
    ),
  )
  const addMissing = db.insert(skills).select(
    db.select({
      accountId: value('account'),
      id: value('id'),
      name: value('name'),
      description: value('description'),
      createdAt: value<number>('at'),
    }).from(sql`(SELECT 1)`).where(agentIsLive),
  ).onConflictDoNothing().returning({ name: skills.name }).toSQL()
  const known = db.select({ n: count() }).from(skills).where(inAccount(skills))
  const requireAtMost = precondition(db, sql`(${known}) <= ${p('max')}`)
  const clear = db.delete(agentSkills).where(inAccount(agentSkills, eq(agentSkills.agentId, p('agent')), agentIsLive))
    .toSQL()
  const attach = db.insert(agentSkills).select(
    db.select({ accountId: skills.accountId, agentId: value('agent'), skillId: skills.id }).from(skills)
      .where(inAccount(skills, eq(skills.name, p('name')), agentIsLive)),
  ).onConflictDoNothing().returning({ skillId: agentSkills.skillId }).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      list: () => account.all(list),
      /** By name, after the name `after`. */
      page: (after: string, limit: number) => account.all(page, { after, limit }),
      /** By name, after the name `after`; with the number of live agents that have each. */
      withCounts: (after: string, limit: number) => account.all(withCounts, { after, limit }),
      ofAgent: (agent: string) => account.all(ofAgent, { agent }),
      /** The skills of an agent by name, after the name `after`. */
      pageOfAgent: (agent: string, after: string, limit: number) => account.all(pageOfAgent, { agent, after, limit }),
      byId: (id: string) => account.one(byId, { id }),
      byName: (name: string) => account.one(byName, { name }),
      /** With `search` in name or description, by name; with the number of live agents that have each. */
      search: (search: string, limit: number, offset: number) => account.all(searchQuery, { search, limit, offset }),
      searchTotal: async (search: string) => (await account.one(searchTotal, { search }))!.n,
      /** The live agents that have a skill, by alias. */
      agentsWith: (skill: string, limit: number, offset: number) => account.all(agentsWith, { skill, limit, offset }),
      agentsWithTotal: async (skill: string) => (await account.one(agentsWithTotal, { skill }))!.n,
    }),
    changes: (account: AccountBinding) => ({
      /** A constraint error if the account has a skill of that name. */
      add: (skill: { id: string; name: string; description: string }, at: number) =>
        account.bind(add, { ...skill, at }),
      /** A constraint error if the name is taken. */
      update: (skill: { id: string; name: string; description: string }) => account.bind(update, { ...skill }),
      /** Remove a skill from every agent. */
      detach: (id: string) => account.bind(detach, { id }),
      /** A constraint error if an agent has it. */
      remove: (id: string) => account.bind(remove, { id }),
      /** Fails the unit unless the account has the skill when it runs. */
      requireExists: (id: string) => account.bind(requireExists, { id }),
      /** Add a skill if the account has none of that name and `agent` is live. Returns a row if it was added. */
      addMissing: (agent: string, skill: { id: string; name: string; description: string }, at: number) =>
        account.bind(addMissing, { agent, ...skill, at }),
      /** Fails the unit if the account has more than `max` skills when it runs. */
      requireAtMost: (max: number) => account.bind(requireAtMost, { max }),
      /** Remove all skills from an agent. */
      clear: (agent: string) => account.bind(clear, { agent }),
      /** Add a skill of the account to an agent, by name. */
      attach: (agent: string, name: string) => account.bind(attach, { agent, name }),
    }),
  }
}
