import { type AccountDb, matchesSearchText, precondition, query, statement } from '../sql.ts'

interface Skill {
  id: string
  name: string
  description: string
}

const list = query<Skill>(`
  SELECT id, name, description FROM skills WHERE account_id = :account ORDER BY name COLLATE NOCASE, name`)
const page = query<Skill>(`
  SELECT id, name, description FROM skills WHERE account_id = :account AND name > :after ORDER BY name LIMIT :limit`)
const ofAgent = query<Skill>(`
  SELECT skills.id, skills.name, skills.description FROM skills
  JOIN agent_skills ON agent_skills.account_id = skills.account_id AND agent_skills.skill_id = skills.id
  WHERE skills.account_id = :account AND agent_skills.agent_id = :agent
  ORDER BY skills.name COLLATE NOCASE, skills.name`)
const pageOfAgent = query<Skill>(`
  SELECT skills.id, skills.name, skills.description FROM skills
  JOIN agent_skills ON agent_skills.account_id = skills.account_id AND agent_skills.skill_id = skills.id
  WHERE skills.account_id = :account AND agent_skills.agent_id = :agent AND skills.name > :after
  ORDER BY skills.name LIMIT :limit`)
const byId = query<Skill>(`SELECT id, name, description FROM skills WHERE account_id = :account AND id = :id`)
const byName = query<Skill>(`SELECT id, name, description FROM skills WHERE account_id = :account AND name = :name`)

const joinLiveAgents = `JOIN agents ON agents.account_id = agent_skills.account_id
  AND agents.id = agent_skills.agent_id AND agents.deleted_at IS NULL`
// A subquery, so that agents are counted only for the page's rows.
const agentCount = `(SELECT count(*) FROM agent_skills ${joinLiveAgents}
  WHERE agent_skills.account_id = skills.account_id AND agent_skills.skill_id = skills.id) AS agent_count`
const withCounts = query<Skill & { agentCount: number }>(`
  SELECT id, name, description, ${agentCount} FROM skills
  WHERE account_id = :account AND name > :after
  ORDER BY name LIMIT :limit`)
const isFound = `account_id = :account AND ${matchesSearchText(['name', 'description'])}`
const searchQuery = query<Skill & { agentCount: number }>(`
  SELECT id, name, description, ${agentCount} FROM skills
  WHERE ${isFound}
  ORDER BY name COLLATE NOCASE, name LIMIT :limit OFFSET :offset`)
const searchTotal = query<{ n: number }>(`SELECT count(*) AS n FROM skills WHERE ${isFound}`)
const fromAgentsWith = `FROM agent_skills ${joinLiveAgents}
  WHERE agent_skills.account_id = :account AND agent_skills.skill_id = :skill`
const agentsWith = query<{ id: string; alias: string; description: string }>(`
  SELECT agents.id, agents.alias, agents.description ${fromAgentsWith}
  ORDER BY agents.alias LIMIT :limit OFFSET :offset`)
const agentsWithTotal = query<{ n: number }>(`SELECT count(*) AS n ${fromAgentsWith}`)

const add = statement(`
  INSERT INTO skills (account_id, id, name, description, created_at)
  VALUES (:account, :id, :name, :description, :at)`)
const update = statement(`
  UPDATE skills SET name = :name, description = :description WHERE account_id = :account AND id = :id`)
const detach = statement(`DELETE FROM agent_skills WHERE account_id = :account AND skill_id = :id`)
const remove = statement(`DELETE FROM skills WHERE account_id = :account AND id = :id`)
const requireExists = precondition(`EXISTS (SELECT 1 FROM skills WHERE account_id = :account AND id = :id)`)

// Each statement that replaces an agent's skills does nothing unless the agent is live.
const agentIsLive = `EXISTS (
  SELECT 1 FROM agents WHERE agents.account_id = :account AND agents.id = :agent AND agents.deleted_at IS NULL)`
const addMissing = statement(`
  INSERT INTO skills (account_id, id, name, description, created_at)
  SELECT :account, :id, :name, :description, :at WHERE ${agentIsLive}
  ON CONFLICT DO NOTHING
  RETURNING name`)
const requireAtMost = precondition(`(SELECT count(*) FROM skills WHERE account_id = :account) <= :max`)
const clear = statement(`
  DELETE FROM agent_skills WHERE account_id = :account AND agent_id = :agent AND ${agentIsLive}`)
const attach = statement(`
  INSERT INTO agent_skills (account_id, agent_id, skill_id)
  SELECT account_id, :agent, id FROM skills WHERE account_id = :account AND name = :name AND ${agentIsLive}
  ON CONFLICT DO NOTHING
  RETURNING skill_id`)

export const skills = {
  reads: (account: AccountDb) => ({
    list: () => account.all(list),
    page: (after: string, limit: number) => account.all(page, { after, limit }),
    /** Skills by name, after the name `after`, each with its number of live agents. */
    withCounts: (after: string, limit: number) => account.all(withCounts, { after, limit }),
    ofAgent: (agent: string) => account.all(ofAgent, { agent }),
    pageOfAgent: (agent: string, after: string, limit: number) => account.all(pageOfAgent, { agent, after, limit }),
    byId: (id: string) => account.one(byId, { id }),
    byName: (name: string) => account.one(byName, { name }),
    /** Skills whose name or description contains `search`, by name, each with its number of live agents. */
    search: (search: string, limit: number, offset: number) => account.all(searchQuery, { search, limit, offset }),
    searchTotal: async (search: string) => (await account.one(searchTotal, { search }))!.n,
    agentsWith: (skill: string, limit: number, offset: number) => account.all(agentsWith, { skill, limit, offset }),
    agentsWithTotal: async (skill: string) => (await account.one(agentsWithTotal, { skill }))!.n,
  }),
  changes: (account: AccountDb) => ({
    add: (skill: Skill, at: number) => account.bind(add, { ...skill, at }),
    update: (skill: Skill) => account.bind(update, { ...skill }),
    detach: (id: string) => account.bind(detach, { id }),
    remove: (id: string) => account.bind(remove, { id }),
    requireExists: (id: string) => account.bind(requireExists, { id }),
    /** Adds a skill if the account has none of that name and `agent` is live. Returns a row if it was added. */
    addMissing: (agent: string, skill: Skill, at: number) => account.bind(addMissing, { agent, ...skill, at }),
    requireAtMost: (max: number) => account.bind(requireAtMost, { max }),
    clear: (agent: string) => account.bind(clear, { agent }),
    attach: (agent: string, name: string) => account.bind(attach, { agent, name }),
  }),
}
