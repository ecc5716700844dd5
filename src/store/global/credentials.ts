import { and, eq, inArray, isNotNull, isNull, or } from 'drizzle-orm'
import { agents, credentials, memberships } from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import type { Crossings, Db } from '../account.ts'
import { isOnTrial } from '../account/agents.ts'
import { ask, p } from '../driver/binding.ts'
import { adminRoles, agentRoles } from './oauth-may-act.ts'

/** A live credential and whom it stands for. */
export type Credential = NonNullable<
  Awaited<ReturnType<ReturnType<typeof prepareCredentials>['byHash']>>
>

const whileRoleIs = (roles: readonly Role[]) => or(isNull(credentials.userId), inArray(memberships.role, [...roles]))

export function prepareCredentials(db: Db, crossings: Crossings) {
  const byHash = db.select({
    accountId: credentials.accountId,
    id: credentials.id,
    kind: credentials.kind,
    userId: credentials.userId,
    lastUsedAt: credentials.lastUsedAt,
    agentId: agents.id,
    alias: agents.alias,
    onTrial: isOnTrial(db),
  }).from(credentials)
    .leftJoin(
      agents,
      and(eq(agents.accountId, credentials.accountId), eq(agents.id, credentials.agentId), isNull(agents.deletedAt)),
    )
    .leftJoin(
      memberships,
      and(
        eq(memberships.accountId, credentials.accountId),
        eq(memberships.userId, credentials.userId),
      ),
    )
    .where(and(
      eq(credentials.hash, p('hash')),
      isNull(credentials.revokedAt),
      // An agent key lives with its agent. A key with a person behind it lives with that person's
      // role too; the others have nobody whose role could end.
      or(
        and(eq(credentials.kind, 'agent_key'), isNotNull(agents.id), whileRoleIs(agentRoles)),
        and(eq(credentials.kind, 'admin_key'), whileRoleIs(adminRoles)),
      ),
    )).limit(1).prepare()
  crossings.set(byHash.getQuery().sql, 'credential by hash')

  return {
    /** The credential with this SHA-256, unless it is revoked or what it stood for has gone. */
    byHash: async (hash: string) => (await ask(byHash, { hash }))[0],
  }
}
