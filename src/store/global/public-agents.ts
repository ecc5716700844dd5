/** Public agents, as anybody may look at them. */
import { and, eq, exists, isNull, sql } from 'drizzle-orm'
import { accounts, agents } from '../../../db/schema.ts'
import { skillsAsJson } from '../account/agents.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

export function preparePublicAgents(db: Db, crossAccountQueries: CrossAccountQueries) {
  const claimed = db.select({ one: sql`1` }).from(accounts)
    .where(and(eq(accounts.id, agents.accountId), eq(accounts.state, sql`'claimed'`)))
  const byAlias = db.select({ alias: agents.alias, description: agents.description, skills: skillsAsJson(db) })
    .from(agents).where(and(
      eq(agents.alias, p('alias')),
      eq(agents.visibility, sql`'public'`),
      isNull(agents.deletedAt),
      exists(claimed),
    )).limit(1).prepare()
  crossAccountQueries.set(byAlias.getQuery().sql, 'public agent by alias')

  return {
    /** A live public agent of a claimed account; `skills` is JSON. Provisional accounts are reached by nobody. */
    byAlias: async (alias: string): Promise<{ alias: string; description: string; skills: string } | undefined> =>
      (await runQuery(byAlias, { alias }))[0],
  }
}
