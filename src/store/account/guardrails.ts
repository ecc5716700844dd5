import { and, count, desc, eq, isNull, or, sql } from 'drizzle-orm'
import { agentGuardrails, agents, guardrails } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { mine, own, p, type Scope } from '../bound.ts'
import type { SealedToken } from './agents.ts'

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

  const add = db.insert(guardrails).values(mine({
    id: p('id'),
    name: p('name'),
    provider: p('provider'),
    // As SQL: a placeholder of a JSON column would be encoded, and it is text already.
    config: sql`${p('config')}`,
    action: p('action'),
    onFailure: p('onFailure'),
    enabled: true,
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
      /** What is attached to an agent. */
      ofAgent: (agent: string): Promise<Attachment[]> => scope.all(ofAgent, { agent }),
    }),
    changes: (scope: Scope) => ({
      /** `config` is JSON text. A constraint error when the account has a guardrail of that name. */
      add: (guardrail: Omit<Guardrail, 'config' | 'enabled'> & SealedToken & { config: string }) =>
        scope.bind(add, { ...guardrail }),
      /** Take all guardrails from an agent. */
      detachAll: (agent: string) => scope.bind(detachAll, { agent }),
      /** The keys refuse an agent or a guardrail that is not the account's. */
      attach: (agent: string, attachment: Attachment) => scope.bind(attach, { agent, ...attachment }),
    }),
  }
}
