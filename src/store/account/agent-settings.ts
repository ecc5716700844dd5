/** What the people of an account see and set of its agents, beside what everybody may know. */
import { and, count, eq, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { agentAccess, agents, agentSkills, deliveries, signups, skills } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../driver/binding.ts'
import { type Agent, agentFields, type SealedToken, skillsAsJson } from './agents.ts'

/** What of an agent can be changed after it was made. */
export type AgentChange = Pick<Agent, 'visibility' | 'accessPolicy' | 'description' | 'remoteUrl'>

export function prepareAgentSettings(db: Db) {
  const live = isNull(agents.deletedAt)
  const waiting = db.select({ n: count() }).from(deliveries).where(
    // Written out, not bound: only then may the planner use the partial index.
    and(
      eq(deliveries.accountId, agents.accountId),
      eq(deliveries.agentId, agents.id),
      sql`${deliveries.state} = 'unread'`,
    ),
  )
  // Like `matchesSearch`, but the skills are searched once, not for each agent: people look at all of them.
  const contains = (text: unknown) => sql`instr(lower(${text}), lower(${p('search')})) > 0`
  const named = db.select({ id: skills.id }).from(skills).where(own(skills, contains(skills.name)))
  const skilled = db.select({ id: agentSkills.agentId }).from(agentSkills)
    .where(own(agentSkills, inArray(agentSkills.skillId, named)))
  const matches = or(
    contains(agents.alias),
    contains(agents.description),
    inArray(agents.id, skilled),
  )
  const listed = { ...agentFields, skills: skillsAsJson(db), unread: sql<number>`(${waiting})`.as('unread') }
  const page = db.select(listed).from(agents).where(own(agents, live))
    .orderBy(agents.alias).limit(p('limit')).offset(p('offset')).prepare()
  // Searched once, for the page and for the total.
  const hits = db.select({ id: agents.id, total: sql<number>`count(*) OVER ()`.as('total') }).from(agents)
    .where(own(agents, live, matches)).orderBy(agents.alias).limit(p('limit')).offset(p('offset')).as('hits')
  // A cross join keeps its order. Left to choose, the planner walks through the agents of all accounts by alias.
  const find = db.select({ ...listed, total: hits.total }).from(hits)
    .crossJoin(agents).where(own(agents, eq(agents.id, hits.id))).orderBy(agents.alias).prepare()
  const byId = db.select({
    hasRemoteToken: sql<number>`${isNotNull(agents.encryptedToken)}`,
    signupAddress: signups.address,
    signupEmail: signups.ownerEmail,
  }).from(agents)
    .leftJoin(signups, and(eq(signups.accountId, agents.accountId), eq(signups.id, agents.signupId)))
    .where(own(agents, eq(agents.id, p('id')))).prepare()
  const accessList = db.select({ alias: agentAccess.alias }).from(agentAccess)
    .where(own(agentAccess, eq(agentAccess.agentId, p('id')))).orderBy(agentAccess.alias).prepare()

  const ofLive = own(agents, eq(agents.id, p('id')), live)
  const set = (name: string) => sql`${p(name)}`
  const update = db.update(agents).set({
    visibility: set('visibility'),
    accessPolicy: set('accessPolicy'),
    description: set('description'),
    remoteUrl: set('remoteUrl'),
  }).where(ofLive).toSQL()
  const setToken = db.update(agents).set({
    encryptedToken: set('encryptedToken'),
    tokenIv: set('tokenIv'),
    tokenAuthTag: set('tokenAuthTag'),
    tokenKeyId: set('tokenKeyId'),
  }).where(ofLive).toSQL()
  const clearAccess = db.delete(agentAccess).where(own(agentAccess, eq(agentAccess.agentId, p('id')))).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** Live agents by alias, with what waits for them; `skills` is JSON. */
      page: (offset: number, limit: number) => scope.all(page, { offset, limit }),
      /** The same of those that a text finds in alias, description or skill; `total` says how many it finds. */
      search: (search: string, offset: number, limit: number) => scope.all(find, { search, offset, limit }),
      /** Whether a token for its remote side is kept, and where it signed up from; those are null when it did not. */
      async byId(id: string) {
        const row = (await scope.one(byId, { id }))!
        return { ...row, hasRemoteToken: row.hasRemoteToken === 1 }
      },
      /** The aliases on its allow or block list. */
      accessList: async (id: string) => (await scope.all(accessList, { id })).map(({ alias }) => alias),
    }),
    changes: (scope: Scope) => ({
      update: (id: string, change: AgentChange) => scope.bind(update, { id, ...change }),
      setToken: (id: string, token: SealedToken) => scope.bind(setToken, { id, ...token }),
      clearAccess: (id: string) => scope.bind(clearAccess, { id }),
    }),
  }
}
