import { and, count, eq, exists, isNull, sql } from 'drizzle-orm'
import { agents, agentSkills, skills } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, own, p, type Scope, value } from '../bound.ts'

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
    }),
    changes: (scope: Scope) => ({
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
