/** Agents as the pages of the account list and configure them, with more fields than `Agent` has. */
import { and, count, eq, exists, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import { agentAccess, agents, agentSkills, deliveries, signups, skills } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inInbox } from '../in-account.ts'
import { type Agent, agentFields, skillsAsJson, type TokenColumns } from './agents.ts'
import { contains, matchesSearchText } from './search.ts'

/** The settings of an agent that can be changed after its creation. */
export type AgentChange = Pick<Agent, 'visibility' | 'accessPolicy' | 'description' | 'remoteUrl'>

export function prepareAgentSettings(db: Db) {
  const live = isNull(agents.deletedAt)
  const unread = db.select({ n: count() }).from(deliveries).where(
    // Written out, not bound: only then may the planner use the partial index.
    inInbox(sql`${agents.id}`, sql`${deliveries.state} = 'unread'`),
  )
  // Like `matchesSearch`, but the skills are searched once and not for each agent, because the page lists all agents.
  const matchingSkills = db.select({ id: skills.id }).from(skills).where(inAccount(skills, contains(skills.name)))
  const agentsWithMatch = db.select({ id: agentSkills.agentId }).from(agentSkills)
    .where(inAccount(agentSkills, inArray(agentSkills.skillId, matchingSkills)))
  const matches = matchesSearchText([agents.alias, agents.description], inArray(agents.id, agentsWithMatch))
  const listed = { ...agentFields, skills: skillsAsJson(db), unread: sql<number>`(${unread})`.as('unread') }
  const page = db.select(listed).from(agents).where(inAccount(agents, live))
    .orderBy(agents.alias).limit(p('limit')).offset(p('offset')).prepare()
  // Searched once, for the page and for the total.
  const hits = db.select({ id: agents.id, total: sql<number>`count(*) OVER ()`.as('total') }).from(agents)
    .where(inAccount(agents, live, matches)).orderBy(agents.alias).limit(p('limit')).offset(p('offset')).as('hits')
  // A cross join fixes the order. Otherwise the planner scans the agents of all accounts by alias.
  const find = db.select({ ...listed, total: hits.total }).from(hits)
    .crossJoin(agents).where(inAccount(agents, eq(agents.id, hits.id))).orderBy(agents.alias).prepare()
  const byId = db.select({
    hasRemoteToken: sql<number>`${isNotNull(agents.encryptedToken)}`,
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
  }).where(ofLive).toSQL()
  const setToken = db.update(agents).set({
    encryptedToken: set('encryptedToken'),
    tokenIv: set('tokenIv'),
    tokenAuthTag: set('tokenAuthTag'),
    tokenKeyId: set('tokenKeyId'),
  }).where(ofLive).toSQL()
  const withoutToken = db.select({ one: sql`1` }).from(agents)
    .where(inAccount(agents, eq(agents.id, p('id')), isNull(agents.encryptedToken)))
  const requireNoToken = precondition(db, exists(withoutToken))
  const clearAccess = db.delete(agentAccess).where(inAccount(agentAccess, eq(agentAccess.agentId, p('id')))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** Live agents by alias, with their number of unread messages; `skills` is JSON. */
      page: (offset: number, limit: number) => account.all(page, { offset, limit }),
      /** The same for agents with the text in alias, description or a skill; `total` is the number of matches. */
      search: (search: string, offset: number, limit: number) => account.all(find, { search, offset, limit }),
      /**
       * Whether the agent has a stored token for its remote agent, and the client address and owner email of its
       * signup, which are null without a signup.
       */
      async byId(id: string) {
        const row = (await account.one(byId, { id }))!
        return { ...row, hasRemoteToken: row.hasRemoteToken === 1 }
      },
      /** The aliases on its allow or block list. */
      accessList: async (id: string) => (await account.all(accessList, { id })).map(({ alias }) => alias),
    }),
    changes: (account: AccountBinding) => ({
      update: (id: string, change: AgentChange) => account.bind(update, { id, ...change }),
      setToken: (id: string, token: TokenColumns) => account.bind(setToken, { id, ...token }),
      /** Fails the unit if the agent has a token for its remote agent when it runs. */
      requireNoToken: (id: string) => account.bind(requireNoToken, { id }),
      clearAccess: (id: string) => account.bind(clearAccess, { id }),
    }),
  }
}
