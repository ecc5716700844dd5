import { and, count, eq, exists, isNull, sql } from 'drizzle-orm'
import { agents, agentSkills, skills } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope, value } from '../driver/binding.ts'
import { hasText } from './has-text.ts'

export function prepareSkills(db: Db) {
  const fields = { id: skills.id, name: skills.name, description: skills.description }
  const list = db.select(fields).from(skills).where(own(skills)).orderBy(skills.name).prepare()
  const withCounts = db.select({ ...fields, agentCount: count(agents.id) }).from(skills)
    .leftJoin(agentSkills, and(eq(agentSkills.accountId, skills.accountId), eq(agentSkills.skillId, skills.id)))
    .leftJoin(
      agents,
      and(eq(agents.accountId, agentSkills.accountId), eq(agents.id, agentSkills.agentId), isNull(agents.deletedAt)),
    )
    .where(own(skills)).groupBy(skills.id).orderBy(skills.name).prepare()
  const ofAgent = db.select(fields).from(skills)
    .innerJoin(agentSkills, and(eq(agentSkills.accountId, skills.accountId), eq(agentSkills.skillId, skills.id)))
    .where(own(skills, eq(agentSkills.agentId, p('agent')))).orderBy(skills.name).prepare()

  const byId = db.select(fields).from(skills).where(own(skills, eq(skills.id, p('id')))).prepare()
  const byName = db.select(fields).from(skills).where(own(skills, eq(skills.name, p('name')))).prepare()
  const holders = and(
    eq(agentSkills.accountId, agents.accountId),
    eq(agentSkills.agentId, agents.id),
    isNull(agents.deletedAt),
  )
  // Counted for the rows of one page alone.
  const ofSkill = and(eq(agentSkills.accountId, skills.accountId), eq(agentSkills.skillId, skills.id))
  const agentCount = sql<number>`(${
    db.select({ n: count() }).from(agentSkills).innerJoin(agents, holders).where(ofSkill)
  })`.as('agent_count')
  const isFound = own(skills, hasText(skills.name, skills.description))
  const found = db.select({ ...fields, agentCount }).from(skills).where(isFound).orderBy(skills.name)
    .limit(p('limit')).offset(p('offset')).prepare()
  const foundTotal = db.select({ n: count() }).from(skills).where(isFound).prepare()
  const hasSkill = own(agentSkills, eq(agentSkills.skillId, p('skill')))
  const agentsWith = db.select({ id: agents.id, alias: agents.alias, description: agents.description })
    .from(agentSkills).innerJoin(agents, holders).where(hasSkill).orderBy(agents.alias)
    .limit(p('limit')).offset(p('offset')).prepare()
  const agentsWithTotal = db.select({ n: count() }).from(agentSkills).innerJoin(agents, holders).where(hasSkill)
    .prepare()

  const add = db.insert(skills).values(mine({
    id: p('id'),
    name: p('name'),
    description: p('description'),
    createdAt: p('at'),
  })).toSQL()
  const isIt = own(skills, eq(skills.id, p('id')))
  const update = db.update(skills).set({ name: sql`${p('name')}`, description: sql`${p('description')}` }).where(isIt)
    .toSQL()
  const detach = db.delete(agentSkills).where(own(agentSkills, eq(agentSkills.skillId, p('id')))).toSQL()
  const remove = db.delete(skills).where(isIt).toSQL()
  const requireThere = demand(db, exists(db.select({ one: sql`1` }).from(skills).where(isIt)))

  // A set of skills is replaced while its agent lives, or not at all: every statement says so.
  const agentLives = exists(
    db.select({ one: sql`1` }).from(agents).where(own(agents, eq(agents.id, p('agent')), isNull(agents.deletedAt))),
  )
  const addMissing = db.insert(skills).select(
    db.select({
      accountId: value('account'),
      id: value('id'),
      name: value('name'),
      description: value('description'),
      createdAt: value<number>('at'),
    }).from(sql`(SELECT 1)`).where(agentLives),
  ).onConflictDoNothing().returning({ name: skills.name }).toSQL()
  const inAccount = db.select({ n: count() }).from(skills).where(own(skills))
  const requireAtMost = demand(db, sql`(${inAccount}) <= ${p('max')}`)
  const clear = db.delete(agentSkills).where(own(agentSkills, eq(agentSkills.agentId, p('agent')), agentLives)).toSQL()
  const attach = db.insert(agentSkills).select(
    db.select({ accountId: skills.accountId, agentId: value('agent'), skillId: skills.id }).from(skills)
      .where(own(skills, eq(skills.name, p('name')), agentLives)),
  ).onConflictDoNothing().returning({ skillId: agentSkills.skillId }).toSQL()

  return {
    reads: (scope: Scope) => ({
      list: () => scope.all(list),
      /** With the number of live agents each is attached to. */
      withCounts: () => scope.all(withCounts),
      ofAgent: (agent: string) => scope.all(ofAgent, { agent }),
      byId: (id: string) => scope.one(byId, { id }),
      byName: (name: string) => scope.one(byName, { name }),
      /** With `search` in name or description, by name; with the number of live agents each is attached to. */
      found: (search: string, limit: number, offset: number) => scope.all(found, { search, limit, offset }),
      foundTotal: async (search: string) => (await scope.one(foundTotal, { search }))!.n,
      /** The live agents that have a skill, by alias. */
      agentsWith: (skill: string, limit: number, offset: number) => scope.all(agentsWith, { skill, limit, offset }),
      agentsWithTotal: async (skill: string) => (await scope.one(agentsWithTotal, { skill }))!.n,
    }),
    changes: (scope: Scope) => ({
      /** A constraint error when the account has a skill of that name. */
      add: (skill: { id: string; name: string; description: string }, at: number) => scope.bind(add, { ...skill, at }),
      /** The same. */
      update: (skill: { id: string; name: string; description: string }) => scope.bind(update, { ...skill }),
      /** Take a skill from every agent. */
      detach: (id: string) => scope.bind(detach, { id }),
      /** A constraint error while an agent has it. */
      remove: (id: string) => scope.bind(remove, { id }),
      /** Fails the unit unless the account has the skill when it runs. */
      requireThere: (id: string) => scope.bind(requireThere, { id }),
      /** A skill of the account, if it has none of that name and `agent` lives; the row tells whether it was made. */
      addMissing: (agent: string, skill: { id: string; name: string; description: string }, at: number) =>
        scope.bind(addMissing, { agent, ...skill, at }),
      /** Fails the unit when the account has more skills than `max` after it. */
      requireAtMost: (max: number) => scope.bind(requireAtMost, { max }),
      /** Take all skills from an agent. */
      clear: (agent: string) => scope.bind(clear, { agent }),
      /** Give an agent a skill of the account by name. */
      attach: (agent: string, name: string) => scope.bind(attach, { agent, name }),
    }),
  }
}
