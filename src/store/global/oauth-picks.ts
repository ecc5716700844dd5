import { and, eq, inArray, isNull, or, sql } from 'drizzle-orm'
import { accounts, agents, memberships, users } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, p } from '../driver/binding.ts'
import { adminRoles, agentRoles } from './oauth-may-act.ts'

/** What a person can let a client be, now. Spec: "Authentication" 4. */
export function prepareOAuthPicks(db: Db, crossings: Crossings) {
  const owners = db.select({ email: sql`min(${users.email})` }).from(users)
    .innerJoin(sql`${memberships} AS owner`, sql`owner.user_id = ${users.id}`)
    .where(sql`owner.account_id = ${accounts.id} AND owner.role = 'owner'`)
  const administered = db.select({
    accountId: accounts.id,
    accountName: accounts.name,
    ownerEmail: sql<string | null>`(${owners})`.as('owner_email'),
  }).from(memberships).innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .where(and(eq(memberships.userId, p('user')), inArray(memberships.role, [...adminRoles])))
    .orderBy(accounts.name, accounts.id).limit(p('limit')).prepare()
  const contains = (text: unknown) => sql`instr(lower(${text}), lower(${p('search')})) > 0`
  const agentsOf = db.select({
    accountId: agents.accountId,
    agentId: agents.id,
    alias: agents.alias,
    accountName: accounts.name,
  }).from(memberships)
    .innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .innerJoin(agents, eq(agents.accountId, memberships.accountId))
    .where(and(
      eq(memberships.userId, p('user')),
      inArray(memberships.role, [...agentRoles]),
      eq(agents.type, sql`'mcp'`),
      isNull(agents.deletedAt),
      or(sql`${p('search')} = ''`, contains(agents.alias), contains(accounts.name)),
    ))
    .orderBy(agents.alias).limit(p('limit')).prepare()
  const administers = db.select({ role: memberships.role }).from(memberships).where(and(
    eq(memberships.accountId, p('account')),
    eq(memberships.userId, p('user')),
    inArray(memberships.role, [...adminRoles]),
  )).prepare()
  crossings.set(administered.getQuery().sql, 'accounts a person administers')
  crossings.set(agentsOf.getQuery().sql, 'agents a person may act as')

  return {
    /** The accounts where the person is owner or admin, by name. */
    administered: (user: string, limit: number) => ask(administered, { user, limit }),
    /** Whether the person is owner or admin of an account. */
    administers: async (account: string, user: string) => (await ask(administers, { account, user })).length > 0,
    /** Agents of the person's accounts by alias; `search` is part of an alias or account name, or empty. */
    agents: (user: string, search: string, limit: number) => ask(agentsOf, { user, search, limit }),
  }
}
