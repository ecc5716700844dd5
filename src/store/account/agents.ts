import { and, count, eq, exists, gt, inArray, isNull, ne, notExists, or, type SQL, sql } from 'drizzle-orm'
import { agentAccess, agents, agentSkills, skills, trials } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope, value } from '../driver/binding.ts'

export type AgentType = typeof agents.$inferSelect.type
export type Visibility = typeof agents.$inferSelect.visibility
export type AccessPolicy = typeof agents.$inferSelect.accessPolicy

/** An agent as the account sees it. Times are milliseconds since the epoch. */
export interface Agent {
  id: string
  /** Without `@`. */
  alias: string
  type: AgentType
  visibility: Visibility
  accessPolicy: AccessPolicy
  description: string
  remoteUrl: string | null
  createdAt: number
  lastSeenAt: number | null
}

/** An agent about to be stored: what everybody may see, and what nobody is answered. */
export interface NewAgentRow extends Omit<Agent, 'createdAt' | 'lastSeenAt'>, SealedToken {
  signupId: string | null
}

/** A token of a remote service as stored: AES-256-GCM in base64, with the id of the key it was sealed with. */
export interface SealedToken {
  encryptedToken: string | null
  tokenIv: string | null
  tokenAuthTag: string | null
  tokenKeyId: string | null
}

export const noToken: SealedToken = { encryptedToken: null, tokenIv: null, tokenAuthTag: null, tokenKeyId: null }

/** How many agents one search answers at most. */
export const searchLimit = 200

export const agentFields = {
  id: agents.id,
  alias: agents.alias,
  type: agents.type,
  visibility: agents.visibility,
  accessPolicy: agents.accessPolicy,
  description: agents.description,
  remoteUrl: agents.remoteUrl,
  createdAt: agents.createdAt,
  lastSeenAt: agents.lastSeenAt,
}

/** 1 when a trial counts what the agent of the row sends, otherwise 0; also where a join found no agent. */
export function isOnTrial(db: Db): SQL<number> {
  const trial = db.select({ one: sql`1` }).from(trials)
    .where(and(eq(trials.accountId, agents.accountId), eq(trials.agentId, agents.id)))
  return sql<number>`${exists(trial)}`
}

const contains = (text: unknown) => sql`instr(lower(${text}), lower(${p('search')})) > 0`

/**
 * Part of an alias, description or skill name, without regard to the case of A to Z; the empty text matches all.
 * `hasSkill` says of an agent whether a skill of its matches.
 */
export function matchesSearch(hasSkill: SQL) {
  return or(sql`${p('search')} = ''`, contains(agents.alias), contains(agents.description), hasSkill)
}

/** Whether an agent of any account has a skill whose name matches. */
export function hasMatchingSkill(db: Db) {
  return exists(
    db.select({ one: sql`1` }).from(agentSkills)
      .innerJoin(skills, and(eq(skills.accountId, agentSkills.accountId), eq(skills.id, agentSkills.skillId)))
      .where(
        and(
          eq(agentSkills.accountId, agents.accountId),
          eq(agentSkills.agentId, agents.id),
          contains(skills.name),
        ),
      ),
  )
}

/** The same for agents of the account. Names are looked through once, not once for each agent: skills are shared. */
function hasOwnMatchingSkill(db: Db) {
  const matching = db.select({ id: skills.id }).from(skills).where(own(skills, contains(skills.name)))
  const skilled = db.select({ agentId: agentSkills.agentId }).from(agentSkills)
    .where(own(agentSkills, inArray(agentSkills.skillId, matching)))
  return inArray(agents.id, skilled)
}

/**
 * The names and descriptions of an agent's skills, as a JSON array. A query of its own inside the field:
 * in a select without joins drizzle drops the table names of a field's own columns.
 */
export function skillsAsJson(db: Db) {
  const json = sql<string>`json_group_array(json_object('name', ${skills.name}, 'description', ${skills.description}))`
  const ofAgent = db.select({ json }).from(agentSkills)
    .innerJoin(skills, and(eq(skills.accountId, agentSkills.accountId), eq(skills.id, agentSkills.skillId)))
    .where(and(eq(agentSkills.accountId, agents.accountId), eq(agentSkills.agentId, agents.id)))
  return sql<string>`(${ofAgent})`.as('skills')
}

export function prepareAgents(db: Db) {
  const live = isNull(agents.deletedAt)
  const byAlias = db.select(agentFields).from(agents).where(own(agents, eq(agents.alias, p('alias')), live)).limit(1)
    .prepare()
  const mailbox = db.select({ id: agents.id, lastSeenAt: agents.lastSeenAt }).from(agents)
    .where(own(agents, eq(agents.alias, p('alias')), live)).limit(1).prepare()
  const byId = db.select(agentFields).from(agents).where(own(agents, eq(agents.id, p('id')), live)).prepare()
  const bySearch = db.select({ ...agentFields, skills: skillsAsJson(db) }).from(agents)
    .where(own(agents, live, ne(agents.id, p('except')), matchesSearch(hasOwnMatchingSkill(db))))
    .orderBy(agents.alias).limit(searchLimit + 1).prepare()
  const byRefs = db.select(agentFields).from(agents).where(own(
    agents,
    live,
    or(
      sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`,
      sql`${agents.alias} IN (SELECT value FROM json_each(${p('aliases')}))`,
    ),
  )).prepare()
  const page = db.select(agentFields).from(agents).where(own(agents, live, gt(agents.alias, p('after'))))
    .orderBy(agents.alias).limit(p('limit')).prepare()
  const total = db.select({ n: count() }).from(agents).where(own(agents, live)).prepare()
  const trial = db.select({ used: trials.used, max: trials.max, expiresAt: trials.expiresAt }).from(trials)
    .where(own(trials, eq(trials.agentId, p('agent')))).prepare()

  // A taken alias is refused by the unique index while its agent lives, and here after it was deleted elsewhere.
  const takenElsewhere = db.select({ one: sql`1` }).from(agents)
    .where(and(eq(agents.alias, p('alias')), ne(agents.accountId, p('account'))))
  const add = db.insert(agents).select(
    db.select({
      accountId: value('account'),
      id: value('id'),
      alias: value('alias'),
      type: value<AgentType>('type'),
      visibility: value<Visibility>('visibility'),
      accessPolicy: value<AccessPolicy>('accessPolicy'),
      description: value('description'),
      remoteUrl: value<string | null>('remoteUrl'),
      encryptedToken: value<string | null>('encryptedToken'),
      tokenIv: value<string | null>('tokenIv'),
      tokenAuthTag: value<string | null>('tokenAuthTag'),
      tokenKeyId: value<string | null>('tokenKeyId'),
      signupId: value<string | null>('signupId'),
      createdAt: value<number>('at'),
      deletedAt: sql<null>`NULL`.as('deleted_at'),
      lastSeenAt: sql<null>`NULL`.as('last_seen_at'),
    }).from(sql`(SELECT 1)`).where(notExists(takenElsewhere)),
  ).returning({ id: agents.id }).toSQL()
  const addTrial = db.insert(trials)
    .values(mine({ agentId: p('agent'), used: 0, max: p('max'), expiresAt: p('expiresAt') })).toSQL()
  const addAccess = db.insert(agentAccess).select(
    db.select({ accountId: agents.accountId, agentId: agents.id, alias: sql<string>`value`.as('alias') })
      .from(agents).innerJoin(sql`json_each(${p('aliases')})`, sql`true`)
      .where(own(agents, eq(agents.id, p('id')))),
  ).onConflictDoNothing().toSQL()
  const softDelete = db.update(agents).set({ deletedAt: sql`${p('at')}` })
    .where(own(agents, eq(agents.id, p('id')), live)).toSQL()
  const liveIds = db.select({ n: count() }).from(agents)
    .where(own(agents, live, sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`))
  const requireLive = demand(db, sql`(${liveIds}) = json_array_length(${p('ids')})`)
  const seen = db.update(agents).set({ lastSeenAt: sql`${p('at')}` }).where(own(agents, eq(agents.id, p('id')))).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** A live agent of the account. */
      byAlias: (alias: string): Promise<Agent | undefined> => scope.one(byAlias, { alias }),
      /** What a sender needs to know of a live agent. */
      mailbox: (alias: string) => scope.one(mailbox, { alias }),
      byId: (id: string): Promise<Agent | undefined> => scope.one(byId, { id }),
      /** Live agents that have one of these ids, or one of these aliases. */
      byRefs: (ids: string[], aliases: string[]): Promise<Agent[]> =>
        scope.all(byRefs, { ids: JSON.stringify(ids), aliases: JSON.stringify(aliases) }),
      /** Live agents by alias, from behind the alias `after`. */
      page: (after: string, limit: number): Promise<Agent[]> => scope.all(page, { after, limit }),
      total: async () => (await scope.one(total))!.n,
      /** Live agents but one, by alias; `skills` is JSON. One more than `searchLimit` when there are more. */
      search: (search: string, except: string) => scope.all(bySearch, { search, except }),
      trial: (agent: string) => scope.one(trial, { agent }),
    }),
    changes: (scope: Scope) => ({
      /** No row when the alias belongs to another account; a constraint error when a live agent has it, or the signup is missing. */
      add: (agent: NewAgentRow, at: number) => scope.bind(add, { ...agent, at }),
      /** Put aliases on the allow or block list of an agent. */
      addAccess: (id: string, aliases: string[]) => ({
        ...scope.bind(addAccess, { id, aliases: JSON.stringify(aliases) }),
        rows: aliases.length,
      }),
      softDelete: (id: string, at: number) => scope.bind(softDelete, { id, at }),
      /** Fails the unit unless all these agents (distinct ids) live when it runs. */
      requireLive: (ids: string[]) => scope.bind(requireLive, { ids: JSON.stringify(ids) }),
      addTrial: (agent: string, max: number, expiresAt: number) => scope.bind(addTrial, { agent, max, expiresAt }),
      seen: (id: string, at: number) => scope.bind(seen, { id, at }),
    }),
  }
}
