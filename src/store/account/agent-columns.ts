/** Columns and sub-selects of the row `agents` that several lists select. */

export const agentColumns = `agents.id, agents.alias, agents.type, agents.visibility, agents.access_policy,
  agents.description, agents.remote_url, agents.created_at, agents.last_seen_at`

const joinSkills = `JOIN skills ON skills.account_id = agent_skills.account_id AND skills.id = agent_skills.skill_id`
const ofAgent = `agent_skills.account_id = agents.account_id AND agent_skills.agent_id = agents.id`

/** All skills of the agent as JSON: `[{name, description}]`. */
export const skillsAsJson = `(
  SELECT json_group_array(json_object('name', skills.name, 'description', skills.description))
  FROM agent_skills ${joinSkills} WHERE ${ofAgent})`

/** The names of its first skills as JSON. A message is read with them, whatever else its sender has. */
export function skillNamesAsJson(most: number): string {
  return `(SELECT json_group_array(few.name) FROM (
    SELECT skills.name FROM agent_skills ${joinSkills} WHERE ${ofAgent} LIMIT ${most}) AS few)`
}
