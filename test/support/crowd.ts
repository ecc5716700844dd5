/** An account with descriptions of the maximum length. */
import { newId } from '../../src/lib/id.ts'
import type { Store } from '../../src/store/store.ts'

/** The longest description that an agent or a skill can have. */
const longest = 'x'.repeat(500)

/** Adds public agents, each with the same skills. Inserts the database rows that the grid would create. */
export async function addCrowd(store: Store, accountId: string, count: { agents: number; skills: number }) {
  const agents = Array.from({ length: count.agents }, (_, n) => ({ id: newId(), alias: `crowd-${1_000 + n}` }))
  const skills = Array.from({ length: count.skills }, (_, n) => ({ id: newId(), name: `skill-${1_000 + n}` }))
  const now = store.deps.now()
  await store.write([
    {
      sql: `INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, description, created_at)
        SELECT ?, value->>'id', value->>'alias', 'mcp', 'public', 'auto_approve', ?, ? FROM json_each(?)`,
      args: [accountId, longest, now, JSON.stringify(agents)],
    },
    {
      sql: `INSERT INTO agent_numbers (account_id, agent_id)
        SELECT account_id, id FROM agents WHERE account_id = ? ON CONFLICT DO NOTHING`,
      args: [accountId],
    },
    {
      sql: `INSERT INTO skills (account_id, id, name, description, created_at)
        SELECT ?, value->>'id', value->>'name', ?, ? FROM json_each(?)`,
      args: [accountId, longest, now, JSON.stringify(skills)],
    },
    {
      sql: `INSERT INTO agent_skills (account_id, agent_id, skill_id)
        SELECT ?, a.value->>'id', s.value->>'id' FROM json_each(?) a, json_each(?) s`,
      args: [accountId, JSON.stringify(agents), JSON.stringify(skills)],
    },
  ])
  return { aliases: agents.map(({ alias }) => `@${alias}`), skills: skills.map(({ name }) => name) }
}
