import { and, count, desc, eq, exists, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import { agentGuardrails, agents, guardrails } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope } from '../driver/binding.ts'
import type { SealedToken } from './agents.ts'
import { hasText } from './has-text.ts'

export type GuardrailAction = typeof guardrails.$inferSelect.action
export type GuardrailDirection = typeof agentGuardrails.$inferSelect.direction
export type OnFailure = typeof guardrails.$inferSelect.onFailure

/** A guardrail as it is answered: never with its token. */
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

/** A guardrail attached to an agent. `action` overrides the guardrail's own. */
export interface Attachment {
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
    .where(own(guardrails)).groupBy(guardrails.id).orderBy(guardrails.name).prepare()
  const byRef = db.select(fields).from(guardrails)
    .where(own(guardrails, or(eq(guardrails.id, p('ref')), eq(guardrails.name, p('ref')))))
    // A name may look like another one's id; the id comes first.
    .orderBy(desc(eq(guardrails.id, p('ref')))).limit(1).prepare()
  const ofAgent = db.select({
    guardrailId: agentGuardrails.guardrailId,
    direction: agentGuardrails.direction,
    action: agentGuardrails.action,
  }).from(agentGuardrails).where(own(agentGuardrails, eq(agentGuardrails.agentId, p('agent')))).prepare()

  const isIt = own(guardrails, eq(guardrails.id, p('id')))
  const hasToken = sql<number>`${guardrails.encryptedToken} IS NOT NULL`
  const byId = db.select({ ...fields, hasToken }).from(guardrails).where(isIt).prepare()
  const guarded = and(
    eq(agents.accountId, agentGuardrails.accountId),
    eq(agents.id, agentGuardrails.agentId),
    isNull(agents.deletedAt),
  )
  // Counted for the rows of one page alone.
  const agentCount = sql<number>`(${
    db.select({ n: count() }).from(agentGuardrails).innerJoin(agents, guarded).where(
      and(eq(agentGuardrails.accountId, guardrails.accountId), eq(agentGuardrails.guardrailId, guardrails.id)),
    )
  })`.as('agent_count')
  const isFound = own(guardrails, hasText(guardrails.name, guardrails.provider))
  const found = db.select({ ...fields, agentCount }).from(guardrails).where(isFound).orderBy(guardrails.name)
    .limit(p('limit')).offset(p('offset')).prepare()
  const foundTotal = db.select({ n: count() }).from(guardrails).where(isFound).prepare()
  const isAttached = own(agentGuardrails, eq(agentGuardrails.guardrailId, p('id')))
  const agentsOf = db.select({
    id: agents.id,
    alias: agents.alias,
    description: agents.description,
    direction: agentGuardrails.direction,
    action: agentGuardrails.action,
  }).from(agentGuardrails).innerJoin(agents, guarded).where(isAttached).orderBy(agents.alias)
    .limit(p('limit')).offset(p('offset')).prepare()
  const agentsOfTotal = db.select({ n: count() }).from(agentGuardrails).innerJoin(agents, guarded).where(isAttached)
    .prepare()

  const update = db.update(guardrails).set({
    name: sql`${p('name')}`,
    config: sql`${p('config')}`,
    action: sql`${p('action')}`,
    onFailure: sql`${p('onFailure')}`,
    enabled: sql`${p('enabled')}`,
  }).where(isIt).toSQL()
  const setToken = db.update(guardrails).set({
    encryptedToken: sql`${p('encryptedToken')}`,
    tokenIv: sql`${p('tokenIv')}`,
    tokenAuthTag: sql`${p('tokenAuthTag')}`,
    tokenKeyId: sql`${p('tokenKeyId')}`,
  }).where(isIt).toSQL()
  const detach = db.delete(agentGuardrails).where(own(agentGuardrails, eq(agentGuardrails.guardrailId, p('id'))))
    .toSQL()
  const remove = db.delete(guardrails).where(isIt).toSQL()
  const requireIt = (...conditions: SQL[]) =>
    demand(
      db,
      exists(
        db.select({ one: sql`1` }).from(guardrails).where(own(guardrails, eq(guardrails.id, p('id')), ...conditions)),
      ),
    )
  const requireThere = requireIt()
  const requireToken = requireIt(isNotNull(guardrails.encryptedToken))

  const add = db.insert(guardrails).values(mine({
    id: p('id'),
    name: p('name'),
    provider: p('provider'),
    // As SQL: a placeholder of a JSON column would be encoded, and it is text already.
    config: sql`${p('config')}`,
    action: p('action'),
    onFailure: p('onFailure'),
    enabled: sql`${p('enabled')}`,
    encryptedToken: p('encryptedToken'),
    tokenIv: p('tokenIv'),
    tokenAuthTag: p('tokenAuthTag'),
    tokenKeyId: p('tokenKeyId'),
    createdAt: p('createdAt'),
  })).toSQL()
  const detachAll = db.delete(agentGuardrails).where(own(agentGuardrails, eq(agentGuardrails.agentId, p('agent'))))
    .toSQL()
  const attach = db.insert(agentGuardrails).values(mine({
    agentId: p('agent'),
    guardrailId: p('guardrailId'),
    direction: p('direction'),
    action: p('action'),
  })).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** With the number of live agents each is attached to. */
      list: () => scope.all(list),
      /** By id or by name. */
      byRef: (ref: string): Promise<Guardrail | undefined> => scope.one(byRef, { ref }),
      /** With the fact that a token is kept, and nothing of it. */
      async byId(id: string): Promise<(Guardrail & { hasToken: boolean }) | undefined> {
        const guardrail = await scope.one(byId, { id })
        return guardrail && { ...guardrail, hasToken: Boolean(guardrail.hasToken) }
      },
      /** With `search` in the name or the provider's id, by name; with the number of live agents each is attached to. */
      found: (search: string, limit: number, offset: number) => scope.all(found, { search, limit, offset }),
      foundTotal: async (search: string) => (await scope.one(foundTotal, { search }))!.n,
      /** The live agents it is attached to, by alias. */
      agentsOf: (id: string, limit: number, offset: number) => scope.all(agentsOf, { id, limit, offset }),
      agentsOfTotal: async (id: string) => (await scope.one(agentsOfTotal, { id }))!.n,
      /** What is attached to an agent. */
      ofAgent: (agent: string): Promise<Attachment[]> => scope.all(ofAgent, { agent }),
    }),
    changes: (scope: Scope) => ({
      /** `config` is JSON text. A constraint error when the account has a guardrail of that name. */
      add: (guardrail: Omit<Guardrail, 'config'> & SealedToken & { config: string }) =>
        scope.bind(add, { ...guardrail, enabled: Number(guardrail.enabled) }),
      /** The same; the provider and the token stay. */
      update: (guardrail: Omit<Guardrail, 'config'> & { config: string }) =>
        scope.bind(update, { ...guardrail, enabled: Number(guardrail.enabled) }),
      /** Keep another token, or none. */
      setToken: (id: string, token: SealedToken) => scope.bind(setToken, { id, ...token }),
      /** Take it from every agent. */
      detach: (id: string) => scope.bind(detach, { id }),
      /** A constraint error while it is attached to an agent. */
      remove: (id: string) => scope.bind(remove, { id }),
      /** Fails the unit unless the account has the guardrail when it runs. */
      requireThere: (id: string) => scope.bind(requireThere, { id }),
      /** Fails the unit unless the guardrail has a token after it. */
      requireToken: (id: string) => scope.bind(requireToken, { id }),
      /** Take all guardrails from an agent. */
      detachAll: (agent: string) => scope.bind(detachAll, { agent }),
      /** The keys refuse an agent or a guardrail that is not the account's. */
      attach: (agent: string, attachment: Attachment) => scope.bind(attach, { agent, ...attachment }),
    }),
  }
}
