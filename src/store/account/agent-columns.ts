/** Columns of `agents` rows that several lists select, and conditions on them. */
import { Buffer } from 'node:buffer'
import { type AccountDb, contains, matchesSearchText, query } from '../sql.ts'

const maxFoundSkills = 10
const maxSkillText = 100

/** The `RemotePresence` of a remote agent, as JSON; null for other agents. */
export function remoteAsJson(account: string, agent: string): string {
  return `(SELECT json_object('state', 'remote', 'pausedAt', remote.paused_at, 'failingSince', (
      SELECT min(outbox.failing_since) FROM remote_outboxes AS outbox
      WHERE outbox.account_id = ${account} AND outbox.agent_id = ${agent}))
    FROM remote_agents AS remote WHERE remote.account_id = ${account} AND remote.agent_id = ${agent})`
}

export const agentColumns = `agents.id, agents.alias, agents.type, agents.visibility, agents.access_policy,
  agents.description, agents.remote_url, agents.created_at, agents.last_seen_at,
  ${remoteAsJson('agents.account_id', 'agents.id')} AS remote`

const fromSkills = `FROM agent_skills
  JOIN skills ON skills.account_id = agent_skills.account_id AND skills.id = agent_skills.skill_id
  WHERE agent_skills.account_id = agents.account_id AND agent_skills.agent_id = agents.id`

export const skillsAsJson =
  `(SELECT json_group_array(json_object('name', skills.name, 'description', skills.description)) ${fromSkills})`

/** The names of the agent's first skills, as a JSON array. Included in each message that is read. */
export function skillNamesAsJson(most: number): string {
  return `(SELECT json_group_array(few.name) FROM (SELECT skills.name ${fromSkills} LIMIT ${most}) AS few)`
}

/** An agent found by a search, as a row of limited size. `skills` is JSON of its first skills. */
export const foundAgentColumns = `${agentColumns},
  (SELECT json_group_array(json_object('name', few.name, 'description', few.text)) FROM (
    SELECT skills.name, iif(length(skills.description) > ${maxSkillText},
      substr(skills.description, 1, ${maxSkillText - 1}) || '…', skills.description) AS text
    ${fromSkills}
    ORDER BY ${contains('skills.name')} DESC, skills.name LIMIT ${maxFoundSkills}) AS few) AS skills,
  (SELECT count(*) FROM agent_skills
    WHERE agent_skills.account_id = agents.account_id AND agent_skills.agent_id = agents.id) AS skill_count`

/** Condition: the alias, the description or a skill name contains `search`. An empty text matches every agent. */
export const matchesSearch = matchesSearchText(
  ['agents.alias', 'agents.description'],
  `EXISTS (SELECT 1 ${fromSkills} AND ${contains('skills.name')})`,
)

/** 1 if the agent of the row is on trial. 0 if it is not, or if a join found no agent. */
export const isOnTrial = `EXISTS (
    SELECT 1 FROM trials WHERE trials.account_id = agents.account_id AND trials.agent_id = agents.id)`

/** Condition: no agent of another account has or had the new alias, which is bound as `alias`. */
export const isNotTakenElsewhere = `NOT EXISTS (
    SELECT 1 FROM agents AS taken WHERE taken.alias = :alias AND taken.account_id <> :account
      AND taken.moved_to IS NULL)`

/** Condition: an account uses or reserves the alias. `alias` is SQL. */
export function isTaken(alias: string): string {
  return `EXISTS (SELECT 1 FROM agents AS holder WHERE holder.alias = ${alias} AND holder.moved_to IS NULL)`
}

const maxFound = 500
const maxTrigrams = 24

/** The index query for a text; undefined if the text is too short to contain a trigram. */
export function trigramQuery(accountId: string, search: string): string | undefined {
  const characters = [...search.replace(/[A-Z]/g, (letter) => letter.toLowerCase())]
  const trigrams = new Set<string>()
  for (let i = 0; i + 3 <= characters.length && trigrams.size < maxTrigrams; i++) {
    trigrams.add(`${hex(accountId)}x${hex(characters.slice(i, i + 3).join(''))}`)
  }
  return trigrams.size === 0 ? undefined : [...trigrams].join(' AND ')
}

// Cross joins, because otherwise the planner starts with all of the account's agents or skills.
const candidates = query<{ list: string }>(`
  SELECT json_group_array(id) AS list FROM (
    SELECT * FROM (
      SELECT agent_numbers.agent_id AS id
      FROM (SELECT rowid AS n FROM agent_search WHERE agent_search MATCH :trigrams LIMIT :limit) AS matches
      CROSS JOIN agent_numbers
      WHERE agent_numbers.account_id = :account AND agent_numbers.n = matches.n LIMIT :limit)
    UNION ALL SELECT * FROM (
      SELECT agent_skills.agent_id AS id FROM skills CROSS JOIN agent_skills
      WHERE skills.account_id = :account AND ${contains('skills.name')}
        AND agent_skills.account_id = skills.account_id AND agent_skills.skill_id = skills.id LIMIT :limit))
  LIMIT 1`)

export const agentSearch = {
  reads: (account: AccountDb) => ({
    /** A superset of the agents that match a search. Undefined if the index does not support the search. */
    async candidates(search: string): Promise<string[] | undefined> {
      const trigrams = trigramQuery(account.accountId, search)
      if (trigrams === undefined) return undefined
      const { list } = (await account.one(candidates, { trigrams, search, limit: maxFound + 1 }))!
      const ids = JSON.parse(list) as string[]
      return ids.length > maxFound ? undefined : ids
    },
  }),
  changes: () => ({}),
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}
