/** Public agents, as anybody may look at them. */
import { skillsAsJson } from '../account/agent-columns.ts'
import { crossAccountQuery, type Db } from '../sql.ts'

const byAlias = crossAccountQuery<{ alias: string; description: string; skills: string }>(
  'public agent by alias',
  `
  SELECT agents.alias, agents.description, ${skillsAsJson} AS skills FROM agents
  WHERE agents.alias = :alias AND agents.visibility = 'public' AND agents.deleted_at IS NULL
    AND EXISTS (SELECT 1 FROM accounts WHERE accounts.id = agents.account_id AND accounts.state = 'claimed')
  LIMIT 1`,
)

export const publicAgents = (db: Db) => ({
  /** A live public agent of a claimed account; `skills` is JSON. Provisional accounts are reached by nobody. */
  byAlias: (alias: string) => db.one(byAlias, { alias }),
})
