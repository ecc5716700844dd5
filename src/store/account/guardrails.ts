import { and, count, desc, eq, exists, gt, isNotNull, isNull, not, or, type SQL, sql } from 'drizzle-orm'
import { agentGuardrails, agents, guardrails } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { insertedToken, sealedColumns, updatedToken } from '../driver/sealed-columns-old.ts'
import { inAccount, withAccount } from '../in-account-old.ts'
import type { TokenColumns } from './agents.ts'
import { matchesSearchText } from './search-old.ts'

export type GuardrailAction = typeof guardrails.$inferSelect.action
export type GuardrailDirection = typeof agentGuardrails.$inferSelect.direction
export type OnFailure = typeof guardrails.$inferSelect.onFailure

/** A guardrail, without its token. */
export interface Guardrail {
  id: string
  name: string
  provider: string
  config: unknown
  action: GuardrailAction
  onFailure: OnFailure
  enabled: boolean
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** A guardrail, and whether a token is stored. */
export type FoundGuardrail = Guardrail & { hasToken: boolean }

/** Changes to a guardrail, as they are stored. */
export type GuardrailChanges = Partial<Pick<Guardrail, 'name' | 'action' | 'onFailure' | 'enabled'>> & {
  config?: string
}

/** A guardrail attached to an agent. `action`, if set, overrides the one of the guardrail. */
export interface GuardrailAttachment {
  guardrailId: string
  direction: GuardrailDirection
  action: GuardrailAction | null
}

export function prepareGuardrails(db: Db) {
  const fields = {
    id: guardrails.id,
    name: guardrails.name,
    provider: guardrails.provider,
    config: guardrails.config,
    action: guardrails.action,
    onFailure: guardrails.onFailure,
    enabled: guardrails.enabled,
    createdAt: guardrails.createdAt,
  }
  const list = db.select({ ...fields, agentCount: count(agents.id) }).from(guardrails)
    .leftJoin(
      agentGuardrails,
      and(eq(agentGuardrails.accountId, guardrails.accountId), eq(agentGuardrails.guardrailId, guardrails.id)),
    )
    .leftJoin(
      agents,
      and(
        eq(agents.accountId, agentGuardrails.accountId),
        eq(agents.id, agentGuardrails.agentId),
        isNull(agents.deletedAt),
      ),
    )
    .where(inAccount(guardrails)).groupBy(guardrails.id).orderBy(guardrails.name).prepare()
  const hasToken = sql<number>`${guardrails.encryptedToken} IS NOT NULL`
  const byRef = db.select({ ...fields, hasToken }).from(guardrails)
    .where(inAccount(guardrails, or(eq(guardrails.id, p('ref')), eq(guardrails.name, p('ref')))))
    // The name of one guardrail may be the id of another; the id wins.
    .orderBy(desc(eq(guardrails.id, p('ref')))).limit(1).prepare()
  const ofAgent = db.select({
    guardrailId: agentGuardrails.guardrailId,
    direction: agentGuardrails.direction,
    action: agentGuardrails.action,
  }).from(agentGuardrails).where(inAccount(agentGuardrails, eq(agentGuardrails.agentId, p('agent')))).prepare()

  const isGuardrail = inAccount(guardrails, eq(guardrails.id, p('id')))
  const byId = db.select({ ...fields, hasToken }).from(guardrails).where(isGuardrail).prepare()
  const attachedAgent = and(
    eq(agents.accountId, agentGuardrails.accountId),
    eq(agents.id, agentGuardrails.agentId),
    isNull(agents.deletedAt),
  )
  // A subquery, so that only the rows of the page are counted.
  const agentCount = sql<number>`(${
    db.select({ n: count() }).from(agentGuardrails).innerJoin(agents, attachedAgent).where(
      and(eq(agentGuardrails.accountId, guardrails.accountId), eq(agentGuardrails.guardrailId, guardrails.id)),
    )
  })`.as('agent_count')
  const sealedToken = db.select(sealedColumns(guardrails)).from(guardrails).where(isGuardrail).prepare()
  const page = db.select({ ...fields, agentCount }).from(guardrails)
    .where(inAccount(guardrails, gt(guardrails.name, p('after')))).orderBy(guardrails.name).limit(p('limit')).prepare()
  const isFound = inAccount(guardrails, matchesSearchText([guardrails.name, guardrails.provider]))
  const searchQuery = db.select({ ...fields, agentCount }).from(guardrails).where(isFound).orderBy(guardrails.name)
    .limit(p('limit')).offset(p('offset')).prepare()
  const searchTotal = db.select({ n: count() }).from(guardrails).where(isFound).prepare()
  const isAttached = inAccount(agentGuardrails, eq(agentGuardrails.guardrailId, p('id')))
  const agentsOf = db.select({
    id: agents.id,
    alias: agents.alias,
    description: agents.description,
    direction: agentGuardrails.direction,
    action: agentGuardrails.action,
  }).from(agentGuardrails).innerJoin(agents, attachedAgent).where(isAttached).orderBy(agents.alias)
    .limit(p('limit')).offset(p('offset')).prepare()
  const agentsOfTotal = db.select({ n: count() }).from(agentGuardrails).innerJoin(agents, attachedAgent).where(
    isAttached,
  )
    .prepare()

  const update = db.update(guardrails).set({
    name: sql`coalesce(${p('name')}, ${guardrails.name})`,
    config: sql`coalesce(${p('config')}, ${guardrails.config})`,
    action: sql`coalesce(${p('action')}, ${guardrails.action})`,
    onFailure: sql`coalesce(${p('onFailure')}, ${guardrails.onFailure})`,
    enabled: sql`coalesce(${p('enabled')}, ${guardrails.enabled})`,
  }).where(isGuardrail).toSQL()
  const setToken = db.update(guardrails).set(updatedToken).where(isGuardrail).toSQL()
  const detach = db.delete(agentGuardrails).where(inAccount(agentGuardrails, eq(agentGuardrails.guardrailId, p('id'))))
    .toSQL()
  const remove = db.delete(guardrails).where(isGuardrail).toSQL()
  const requireMatching = (...conditions: SQL[]) =>
    precondition(
      db,
      exists(
        db.select({ one: sql`1` }).from(guardrails).where(
          inAccount(guardrails, eq(guardrails.id, p('id')), ...conditions),
        ),
      ),
    )
  const requireExists = requireMatching()
  const requireTokenIfOn = requireMatching(or(isNotNull(guardrails.encryptedToken), not(guardrails.enabled))!)
  const requireNoToken = requireMatching(isNull(guardrails.encryptedToken))

  const add = db.insert(guardrails).values(withAccount({
    id: p('id'),
    name: p('name'),
    provider: p('provider'),
    // SQL, because a placeholder of a JSON column would be encoded again.
    config: sql`${p('config')}`,
    action: p('action'),
    onFailure: p('onFailure'),
    enabled: sql`${p('enabled')}`,
    ...insertedToken,
    createdAt: p('createdAt'),
  })).toSQL()
  const detachAll = db.delete(agentGuardrails).where(
    inAccount(agentGuardrails, eq(agentGuardrails.agentId, p('agent'))),
  )
    .toSQL()
  const attach = db.insert(agentGuardrails).values(withAccount({
    agentId: p('agent'),
    guardrailId: p('guardrailId'),
    direction: p('direction'),
    action: p('action'),
  })).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** With the number of live agents that each is attached to. */
      list: () => account.all(list),
      /** The same by name, after the name `after`. */
      page: (after: string, limit: number) => account.all(page, { after, limit }),
      /** By id or by name. */
      byRef: async (ref: string): Promise<FoundGuardrail | undefined> => asFound(await account.one(byRef, { ref })),
      byId: async (id: string): Promise<FoundGuardrail | undefined> => asFound(await account.one(byId, { id })),
      /** Its token as stored, for `AccountStore.open`; null in each column if it has none. */
      sealedToken: (id: string): Promise<TokenColumns | undefined> => account.one(sealedToken, { id }),
      /** With `search` in name or provider id, by name; with the number of live agents that each is attached to. */
      search: (search: string, limit: number, offset: number) => account.all(searchQuery, { search, limit, offset }),
      searchTotal: async (search: string) => (await account.one(searchTotal, { search }))!.n,
      /** The live agents it is attached to, by alias. */
      agentsOf: (id: string, limit: number, offset: number) => account.all(agentsOf, { id, limit, offset }),
      agentsOfTotal: async (id: string) => (await account.one(agentsOfTotal, { id }))!.n,
      /** The attachments of an agent. */
      ofAgent: (agent: string): Promise<GuardrailAttachment[]> => account.all(ofAgent, { agent }),
    }),
    changes: (account: AccountBinding) => ({
      /** `config` is JSON text. A constraint error if the account has a guardrail of that name. */
      add: (guardrail: Omit<Guardrail, 'config'> & TokenColumns & { config: string }) =>
        account.bind(add, { ...guardrail, enabled: Number(guardrail.enabled) }),
      /**
       * What is undefined stays, and so do the provider and the token. `config` is JSON text. A constraint error if the
       * name is taken.
       */
      update: (id: string, { name, config, action, onFailure, enabled }: GuardrailChanges) =>
        account.bind(update, {
          id,
          name: name ?? null,
          config: config ?? null,
          action: action ?? null,
          onFailure: onFailure ?? null,
          enabled: enabled === undefined ? null : Number(enabled),
        }),
      /** Replace the token, or remove it. */
      setToken: (id: string, token: TokenColumns) => account.bind(setToken, { id, ...token }),
      /** Detach it from every agent. */
      detach: (id: string) => account.bind(detach, { id }),
      /** A constraint error while it is attached to an agent. */
      remove: (id: string) => account.bind(remove, { id }),
      /** Fails the unit unless the account has the guardrail when it runs. */
      requireExists: (id: string) => account.bind(requireExists, { id }),
      /** Fails the unit unless the guardrail has a token or is off when it runs. */
      requireTokenIfOn: (id: string) => account.bind(requireTokenIfOn, { id }),
      /** Fails the unit if the guardrail has a token when it runs. */
      requireNoToken: (id: string) => account.bind(requireNoToken, { id }),
      /** Detach all guardrails from an agent. */
      detachAll: (agent: string) => account.bind(detachAll, { agent }),
      /** A constraint error if the account does not have the agent or the guardrail. */
      attach: (agent: string, attachment: GuardrailAttachment) => account.bind(attach, { agent, ...attachment }),
    }),
  }
}

function asFound(row: (Guardrail & { hasToken: number }) | undefined): FoundGuardrail | undefined {
  return row && { ...row, hasToken: row.hasToken !== 0 }
}
