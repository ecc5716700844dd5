import { and, count, desc, eq, exists, gt, isNull, lte, ne, notExists, or, type SQL, sql } from 'drizzle-orm'
import { agentAccess, agents, agentSkills, skills, trials } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account-old.ts'
import { guardsOfDirect } from './guarding.ts'
import { openTaskFor } from './open-task-old.ts'
import { contains, matchesSearchText } from './search-old.ts'

export type AgentType = typeof agents.$inferSelect.type
/** The types of agents that programs act as. The others are people. See docs/security.md, "People and their aliases". */
export type ProgramType = Exclude<AgentType, 'human'>
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

/** An agent about to be stored, with the fields that no response contains. */
export interface NewAgentRow extends Omit<Agent, 'lastSeenAt'>, TokenColumns {
  signupId: string | null
}

/** A sealed token of a remote service: AES-256-GCM in base64, with the id of the key. */
export interface TokenColumns {
  encryptedToken: string | null
  tokenIv: string | null
  tokenAuthTag: string | null
  tokenKeyId: string | null
}

export const noToken: TokenColumns = { encryptedToken: null, tokenIv: null, tokenAuthTag: null, tokenKeyId: null }

/** How many skills of an agent a search returns, and how many characters of the description of each. */
const maxFoundSkills = 10
const maxSkillText = 100

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

/** 1 if the agent of the row is on trial, otherwise 0; also 0 if a join found no agent. */
export function isOnTrial(db: Db): SQL<number> {
  const trial = db.select({ one: sql`1` }).from(trials)
    .where(and(eq(trials.accountId, agents.accountId), eq(trials.agentId, agents.id)))
  return sql<number>`${exists(trial)}`
}

/**
 * Whether `search` is part of the alias, the description or a skill name. The case of A to Z is ignored, and the empty
 * text matches every agent. `hasSkill` is the condition on the skills.
 */
export function matchesSearch(hasSkill: SQL) {
  return matchesSearchText([agents.alias, agents.description], hasSkill)
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

/**
 * The names and descriptions of an agent's skills, as a JSON array. It is a subquery, because in a select without joins
 * drizzle drops the table names of a field's own columns.
 */
export function skillsAsJson(db: Db) {
  const json = sql<string>`json_group_array(json_object('name', ${skills.name}, 'description', ${skills.description}))`
  const ofAgent = db.select({ json }).from(agentSkills)
    .innerJoin(skills, and(eq(skills.accountId, agentSkills.accountId), eq(skills.id, agentSkills.skillId)))
    .where(and(eq(agentSkills.accountId, agents.accountId), eq(agentSkills.agentId, agents.id)))
  return sql<string>`(${ofAgent})`.as('skills')
}

/** The names of an agent's first skills, as a JSON array. A message is read with them, whatever else its sender has. */
export function skillNamesAsJson(db: Db, most: number) {
  const few = db.select({ name: skills.name }).from(agentSkills)
    .innerJoin(skills, and(eq(skills.accountId, agentSkills.accountId), eq(skills.id, agentSkills.skillId)))
    .where(and(eq(agentSkills.accountId, agents.accountId), eq(agentSkills.agentId, agents.id)))
    .limit(most).as('few')
  return sql<string>`(${db.select({ json: sql`json_group_array(${few.name})` }).from(few)})`.as('skills')
}

/**
 * What a search returns of an agent. `skills` is JSON of a few skills, those first whose names match `search`, with
 * shortened descriptions; `skillCount` counts all. So a row is small, however much an agent says about itself.
 */
export function foundAgentFields(db: Db) {
  const ofAgent = and(eq(agentSkills.accountId, agents.accountId), eq(agentSkills.agentId, agents.id))
  const { description } = skills
  const text = sql`iif(length(${description}) > ${maxSkillText},
    substr(${description}, 1, ${maxSkillText - 1}) || '…', ${description})`
  const few = db.select({ name: skills.name, text: sql<string>`${text}`.as('text') }).from(agentSkills)
    .innerJoin(skills, and(eq(skills.accountId, agentSkills.accountId), eq(skills.id, agentSkills.skillId)))
    .where(ofAgent).orderBy(desc(contains(skills.name)), skills.name).limit(maxFoundSkills).as('few')
  const json = sql<string>`json_group_array(json_object('name', ${few.name}, 'description', ${few.text}))`
  return {
    ...agentFields,
    skills: sql<string>`(${db.select({ json }).from(few)})`.as('skills'),
    skillCount: sql<number>`(${db.select({ n: count() }).from(agentSkills).where(ofAgent)})`.as('skill_count'),
  }
}

/** A row with `foundAgentFields`. */
export type FoundAgent = Agent & { skills: string; skillCount: number }

/**
 * An agent that a search looked at, whether it matches or not: a search looks at a limited number of agents, and goes
 * on where it ended. The fields of one that does not match are null.
 */
export type SearchedAgent = { [field in keyof FoundAgent]: FoundAgent[field] | null } & {
  searchedAlias: string
  /** 1 if the caller must not learn the alias, otherwise 0. */
  isHidden: number
}

/**
 * Condition on the new alias that is bound as `alias`: no agent of another account has or had it. The unique index refuses
 * the alias of a live agent; this refuses that of a deleted one.
 */
export function isNotTakenElsewhere(db: Db): SQL {
  const taken = db.select({ one: sql`1` }).from(agents)
    .where(and(eq(agents.alias, p('alias')), ne(agents.accountId, p('account'))))
  return notExists(taken)
}

export function prepareAgents(db: Db) {
  const live = isNull(agents.deletedAt)
  const byAlias = db.select(agentFields).from(agents).where(inAccount(agents, eq(agents.alias, p('alias')), live))
    .limit(1)
    .prepare()
  const recipient = db.select({
    id: agents.id,
    guards: guardsOfDirect(p('from'), agents, false),
    openTask: openTaskFor(p('from')),
    messageReplies: agents.messageReplies,
  }).from(agents)
    .where(inAccount(agents, eq(agents.alias, p('alias')), live)).limit(1).prepare()
  const byId = db.select(agentFields).from(agents).where(inAccount(agents, eq(agents.id, p('id')), live)).prepare()
  const searchIn = (alias: SQL, among?: SQL) => {
    const candidates = db.select({ id: agents.id, alias: agents.alias }).from(agents)
      .where(inAccount(agents, live, gt(alias, p('after')), ne(agents.id, p('except')), among))
      .orderBy(alias).limit(p('limit')).as('candidates')
    return db.select({
      searchedAlias: sql<string>`${candidates.alias}`.as('searched_alias'),
      isHidden: sql<number>`0`.as('is_hidden'),
      ...foundAgentFields(db),
    }).from(candidates)
      .leftJoin(agents, inAccount(agents, eq(agents.id, candidates.id), matchesSearch(hasMatchingSkill(db))))
      .orderBy(candidates.alias).prepare()
  }
  const bySearch = searchIn(sql`${agents.alias}`)
  // `+` keeps the planner from reading all agents in their order: there are few among which to search.
  const bySearchAmong = searchIn(sql`+${agents.alias}`, sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`)
  const byRefs = db.select(agentFields).from(agents).where(inAccount(
    agents,
    live,
    or(
      sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`,
      sql`${agents.alias} IN (SELECT value FROM json_each(${p('aliases')}))`,
    ),
  )).prepare()
  const page = db.select(agentFields).from(agents).where(inAccount(agents, live, gt(agents.alias, p('after'))))
    .orderBy(agents.alias).limit(p('limit')).prepare()
  const total = db.select({ n: count() }).from(agents).where(inAccount(agents, live)).prepare()
  const isProgram = ne(agents.type, sql`'human'`)
  const livePrograms = db.select({ n: count() }).from(agents).where(inAccount(agents, live, isProgram))
  const programs = livePrograms.prepare()
  const anyProgram = db.select({ one: sql`1` }).from(agents).where(inAccount(agents, live, isProgram)).limit(1)
    .prepare()
  const trial = db.select({
    used: trials.used,
    max: trials.max,
    expiresAt: trials.expiresAt,
    endedAt: trials.endedAt,
  }).from(trials).where(inAccount(trials, eq(trials.agentId, p('agent')))).prepare()
  const endTrials = db.update(trials).set({ endedAt: sql`${p('at')}` })
    .where(inAccount(trials, lte(trials.expiresAt, p('until')), isNull(trials.endedAt))).toSQL()

  // To a program, this refuses the alias that a person had.
  const hadByPerson = db.select({ one: sql`1` }).from(agents)
    .where(inAccount(agents, eq(agents.alias, p('alias')), eq(agents.type, sql`'human'`), sql`${p('type')} <> 'human'`))
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
      createdAt: value<number>('createdAt'),
      deletedAt: sql<null>`NULL`.as('deleted_at'),
      lastSeenAt: sql<null>`NULL`.as('last_seen_at'),
      automated: sql<boolean>`0`.as('automated'),
      messageReplies: sql<boolean>`0`.as('message_replies'),
    }).from(sql`(SELECT 1)`).where(and(isNotTakenElsewhere(db), notExists(hadByPerson))),
  ).returning({ id: agents.id }).toSQL()
  const addTrial = db.insert(trials)
    .values(withAccount({ agentId: p('agent'), used: 0, max: p('max'), expiresAt: p('expiresAt') })).toSQL()
  const addAccess = db.insert(agentAccess).select(
    db.select({ accountId: agents.accountId, agentId: agents.id, alias: sql<string>`value`.as('alias') })
      .from(agents).innerJoin(sql`json_each(${p('aliases')})`, sql`true`)
      .where(inAccount(agents, eq(agents.id, p('id')))),
  ).onConflictDoNothing().toSQL()
  const softDelete = db.update(agents).set({ deletedAt: sql`${p('at')}` })
    .where(inAccount(agents, eq(agents.id, p('id')), live)).toSQL()
  const liveIds = db.select({ n: count() }).from(agents)
    .where(inAccount(agents, live, sql`${agents.id} IN (SELECT value FROM json_each(${p('ids')}))`))
  const requireLive = precondition(db, sql`(${liveIds}) = json_array_length(${p('ids')})`)
  const requireAtMost = precondition(db, sql`(${livePrograms}) <= ${p('max')}`)
  const markSeen = db.update(agents).set({ lastSeenAt: sql`${p('at')}` }).where(
    inAccount(agents, eq(agents.id, p('id'))),
  )
    .toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** A live agent of the account. */
      byAlias: (alias: string): Promise<Agent | undefined> => account.one(byAlias, { alias }),
      /** A live agent as the recipient of a send by the agent `from`, and whether guardrails check the message. */
      recipient: (alias: string, from: string) => account.one(recipient, { alias, from }),
      byId: (id: string): Promise<Agent | undefined> => account.one(byId, { id }),
      /** Whether the account has a live agent that is no person. */
      hasPrograms: async (): Promise<boolean> => (await account.one(anyProgram, {})) !== undefined,
      /** Live agents with one of these ids or aliases. */
      byRefs: (ids: string[], aliases: string[]): Promise<Agent[]> =>
        account.all(byRefs, { ids: JSON.stringify(ids), aliases: JSON.stringify(aliases) }),
      /** Live agents by alias, after the alias `after`. */
      page: (after: string, limit: number): Promise<Agent[]> => account.all(page, { after, limit }),
      /** How many live agents there are. */
      total: async () => (await account.one(total))!.n,
      /** How many of them are not people. */
      programs: async () => (await account.one(programs))!.n,
      /** Look at `limit` live agents except one, by alias, after the alias `after`; only at those `among`, if given. */
      search: (
        search: string,
        except: string,
        after: string,
        limit: number,
        among?: string[],
      ): Promise<SearchedAgent[]> =>
        among
          ? account.all(bySearchAmong, { search, except, after, limit, ids: JSON.stringify(among) })
          : account.all(bySearch, { search, except, after, limit }),
      trial: (agent: string) => account.one(trial, { agent }),
    }),
    changes: (account: AccountBinding) => ({
      /**
       * Returns no row if the alias belongs to another account or, for a program, belonged to a person. A constraint
       * error if a live agent has it, or the signup is missing.
       */
      add: (agent: NewAgentRow) => account.bind(add, { ...agent }),
      /** Add aliases to the allow or block list of an agent. */
      addAccess: (id: string, aliases: string[]) => ({
        ...account.bind(addAccess, { id, aliases: JSON.stringify(aliases) }),
        rows: aliases.length,
      }),
      softDelete: (id: string, at: number) => account.bind(softDelete, { id, at }),
      /** Fails the unit unless all these agents (distinct ids) are live when it runs. */
      requireLive: (ids: string[]) => account.bind(requireLive, { ids: JSON.stringify(ids) }),
      /** Fails the unit if the account has more than `max` live agents that are not people when it runs. */
      requireAtMost: (max: number) => account.bind(requireAtMost, { max }),
      /** End the trials that expired by `until`. They stay ended, whatever the clock says later. */
      endTrials: (until: number, at: number) => account.bind(endTrials, { until, at }),
      addTrial: (agent: string, max: number, expiresAt: number) => account.bind(addTrial, { agent, max, expiresAt }),
      markSeen: (id: string, at: number) => ({ ...account.bind(markSeen, { id, at }), isTraffic: true }),
    }),
  }
}
