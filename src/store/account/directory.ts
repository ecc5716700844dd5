/** Agents of other accounts, as the calling agent may find them and write to them. */
import { and, eq, exists, gt, isNull, ne, notExists, sql } from 'drizzle-orm'
import { agentAccess, agents } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { acceptsMessagesOf, acceptsOtherAccounts } from './access-old.ts'
import { foundAgentFields, hasMatchingSkill, matchesSearch, type SearchedAgent } from './agents.ts'
import { guardsOfDirect } from './guarding.ts'
import { openTaskFor } from './open-task-old.ts'

export function prepareDirectory(db: Db, crossAccountQueries: CrossAccountQueries) {
  const isElsewhere = ne(agents.accountId, p('account'))
  const reachable = and(isElsewhere, acceptsOtherAccounts(agents, p('caller')))
  const accepts = acceptsMessagesOf(agents, { alias: p('caller'), id: p('callerId') })
  const recipient = db.select({
    id: agents.id,
    home: agents.accountId,
    guards: guardsOfDirect(p('callerId'), agents, true),
    openTask: openTaskFor(p('callerId')),
    messageReplies: agents.messageReplies,
  }).from(agents)
    .where(and(eq(agents.alias, p('alias')), isElsewhere, accepts)).prepare()
  // Agents that the caller cannot reach count, too: looking at many of them also takes long.
  const candidates = db.select({
    home: agents.accountId,
    id: agents.id,
    alias: agents.alias,
    isHidden: sql<number>`NOT (${reachable})`.as('is_hidden'),
  }).from(agents)
    .where(and(eq(agents.visibility, sql`'public'`), isNull(agents.deletedAt), gt(agents.alias, p('after'))))
    .orderBy(agents.alias).limit(p('limit')).offset(p('skip')).as('candidates')
  const isFound = and(
    eq(agents.accountId, candidates.home),
    eq(agents.id, candidates.id),
    sql`NOT ${candidates.isHidden}`,
    matchesSearch(hasMatchingSkill(db)),
  )
  const bySearch = db.select({
    searchedAlias: sql<string>`${candidates.alias}`.as('searched_alias'),
    isHidden: sql<number>`${candidates.isHidden}`.as('hidden'),
    ...foundAgentFields(db),
  }).from(candidates).leftJoin(agents, isFound).orderBy(candidates.alias).prepare()
  const aliasOwner = db.select({
    isOurs: sql<number>`max(${agents.accountId} = ${p('account')})`,
    wasOfPerson: sql<number>`max(${agents.type} = 'human')`,
  }).from(agents)
    .where(eq(agents.alias, p('alias'))).groupBy(agents.alias).prepare()
  const aliasLive = db.select({ id: agents.id }).from(agents)
    .where(and(eq(agents.alias, p('alias')), isNull(agents.deletedAt))).prepare()

  const held = db.select({ alias: agents.alias }).from(agents)
    .where(and(sql`${agents.alias} IN (SELECT value FROM json_each(${p('aliases')}))`, isNull(agents.deletedAt)))
    .prepare()

  const one = { one: sql`1` }
  const holder = db.select(one).from(agents).where(eq(agents.alias, p('alias')))
  const allows = db.select(one).from(agents).where(and(
    eq(agents.accountId, agentAccess.accountId),
    eq(agents.id, agentAccess.agentId),
    eq(agents.accessPolicy, sql`'allow_list'`),
  ))
  const distrust = db.delete(agentAccess)
    .where(and(eq(agentAccess.alias, p('alias')), notExists(holder), exists(allows))).toSQL()

  crossAccountQueries.set(recipient.getQuery().sql, 'recipient in another account')
  crossAccountQueries.set(bySearch.getQuery().sql, 'public agents')
  crossAccountQueries.set(aliasOwner.getQuery().sql, 'owner of an alias')
  crossAccountQueries.set(aliasLive.getQuery().sql, 'live alias')
  crossAccountQueries.set(held.getQuery().sql, 'held aliases')
  crossAccountQueries.set(distrust.sql, 'allow lists with a new alias')

  return {
    reads: (account: AccountBinding) => ({
      /**
       * An agent of another account that accepts messages of the caller. `home` is its account. Says, too, whether
       * guardrails check the message: those of the caller, or those of its account.
       */
      recipient: (alias: string, caller: { alias: string; agentId: string }) =>
        account.one(recipient, { alias, caller: caller.alias, callerId: caller.agentId }),
      /**
       * Look at `limit` public agents by alias, after the alias `after` and `skip` more. Those of the account, and
       * those that do not accept the caller (an alias), are hidden.
       */
      search: (
        search: string,
        caller: string,
        { after, skip }: { after: string; skip: number },
        limit: number,
      ): Promise<SearchedAgent[]> => account.all(bySearch, { search, caller, after, skip, limit }),
      /** Those of the aliases that a live agent of any account has. */
      heldAliases: async (aliases: string[]): Promise<Set<string>> =>
        new Set((await account.all(held, { aliases: JSON.stringify(aliases) })).map(({ alias }) => alias)),
      /**
       * Whether no agent has the alias, and no deleted agent of another account had it. A program cannot have the alias
       * that a person had, so that nobody takes it for that person.
       */
      async isAliasFree(alias: string, { forPerson = false } = {}): Promise<boolean> {
        const owner = await account.one(aliasOwner, { alias })
        if (!owner) return true
        if (owner.wasOfPerson === 1 && !forPerson) return false
        return owner.isOurs === 1 && !(await account.one(aliasLive, { alias }))
      },
    }),
    changes: (account: AccountBinding) => ({
      /**
       * Before an agent is added: if its alias is new, or free again after the removal of an unclaimed account, take it
       * off every allow list. They meant somebody else.
       */
      distrustNewAlias: (alias: string) => account.bind(distrust, { alias }),
    }),
  }
}
