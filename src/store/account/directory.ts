/** Agents of other accounts that a caller may find. With the credential look-up, the only door between accounts. */
import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { accounts, agentAccess, agents } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { p, type Scope } from '../driver/binding.ts'
import { agentFields, hasMatchingSkill, matchesSearch, searchLimit, skillsAsJson } from './agents.ts'

export function prepareDirectory(db: Db, crossings: Crossings) {
  // Whoever signed up by itself and was not claimed neither sees nor is seen.
  const claimed = (id: unknown) =>
    sql`EXISTS (SELECT 1 FROM ${accounts} WHERE ${accounts.id} = ${id} AND ${accounts.state} = 'claimed')`
  const listed = sql`EXISTS (SELECT 1 FROM ${agentAccess} WHERE ${agentAccess.accountId} = ${agents.accountId}
    AND ${agentAccess.agentId} = ${agents.id} AND ${agentAccess.alias} = ${p('caller')})`
  const reachable = and(
    ne(agents.accountId, p('account')),
    eq(agents.visibility, sql`'public'`),
    isNull(agents.deletedAt),
    claimed(agents.accountId),
    claimed(p('account')),
    sql`CASE ${agents.accessPolicy} WHEN 'auto_approve' THEN 1 WHEN 'allow_list' THEN ${listed} ELSE NOT ${listed} END`,
  )
  const fields = { ...agentFields, home: agents.accountId }
  const byAlias = db.select(fields).from(agents).where(and(eq(agents.alias, p('alias')), reachable)).prepare()
  const bySearch = db.select({ ...agentFields, skills: skillsAsJson(db) }).from(agents)
    .where(and(reachable, matchesSearch(hasMatchingSkill(db)))).orderBy(agents.alias).limit(searchLimit + 1).prepare()
  const aliasOwner = db.select({ mine: sql<number>`max(${agents.accountId} = ${p('account')})` }).from(agents)
    .where(eq(agents.alias, p('alias'))).groupBy(agents.alias).prepare()
  const aliasLive = db.select({ id: agents.id }).from(agents)
    .where(and(eq(agents.alias, p('alias')), isNull(agents.deletedAt))).prepare()

  crossings.set(byAlias.getQuery().sql, 'public agent by alias')
  crossings.set(bySearch.getQuery().sql, 'public agents')
  crossings.set(aliasOwner.getQuery().sql, 'owner of an alias')
  crossings.set(aliasLive.getQuery().sql, 'live alias')

  return {
    reads: (scope: Scope) => ({
      /** A public agent of another account that accepts the caller (an alias). `home` is where its mailbox is. */
      byAlias: (alias: string, caller: string) => scope.one(byAlias, { alias, caller }),
      /** Public agents of other accounts that accept the caller; `skills` is JSON. */
      search: (search: string, caller: string) => scope.all(bySearch, { search, caller }),
      /** Whether nobody has the alias, or only deleted agents of this very account had it. */
      async aliasIsFree(alias: string): Promise<boolean> {
        const owner = await scope.one(aliasOwner, { alias })
        if (!owner) return true
        return owner.mine === 1 && !(await scope.one(aliasLive, { alias }))
      },
    }),
    changes: () => ({}),
  }
}
