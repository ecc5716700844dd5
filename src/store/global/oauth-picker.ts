import { and, eq, isNull, sql } from 'drizzle-orm'
import { accounts, agents, memberships, users } from '../../../db/schema.ts'
import { matchesSearchText } from '../account/search-old.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { roleHas } from './oauth-access.ts'

/** The accounts and agents that a user can choose from on a consent page. See docs/protocol.md, "Account picker". */
export function prepareOAuthPicker(db: Db, crossAccountQueries: CrossAccountQueries) {
  const owners = db.select({ email: sql`min(${users.email})` }).from(users)
    .innerJoin(sql`${memberships} AS owner`, sql`owner.user_id = ${users.id}`)
    .where(sql`owner.account_id = ${accounts.id} AND owner.role = 'owner'`)
  const administered = db.select({
    accountId: accounts.id,
    accountName: accounts.name,
    ownerEmail: sql<string | null>`(${owners})`.as('owner_email'),
  }).from(memberships).innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .where(and(eq(memberships.userId, p('user')), roleHas('manage')))
    .orderBy(accounts.name, accounts.id).limit(p('limit')).prepare()
  const agentsOf = db.select({
    accountId: agents.accountId,
    agentId: agents.id,
    alias: agents.alias,
    description: agents.description,
    accountName: accounts.name,
  }).from(memberships)
    .innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .innerJoin(agents, eq(agents.accountId, memberships.accountId))
    .where(and(
      eq(memberships.userId, p('user')),
      roleHas('use'),
      eq(agents.type, sql`'mcp'`),
      isNull(agents.deletedAt),
      matchesSearchText([agents.alias, agents.description, accounts.name]),
    ))
    .orderBy(agents.alias).limit(p('limit')).prepare()
  const administers = db.select({ role: memberships.role }).from(memberships).where(and(
    eq(memberships.accountId, p('account')),
    eq(memberships.userId, p('user')),
    roleHas('manage'),
  )).prepare()
  crossAccountQueries.set(administered.getQuery().sql, 'accounts administered by a user')
  crossAccountQueries.set(agentsOf.getQuery().sql, 'agents a user may act as')

  return {
    /** The accounts where the user is owner or admin, by name. */
    administered: (user: string, limit: number) => runQuery(administered, { user, limit }),
    /** Whether the user is owner or admin of an account. */
    administers: async (account: string, user: string) => (await runQuery(administers, { account, user })).length > 0,
    /** Agents of the user's accounts by alias; `search` is part of an alias, a description or an account name, or empty. */
    agents: (user: string, search: string, limit: number) => runQuery(agentsOf, { user, search, limit }),
  }
}
