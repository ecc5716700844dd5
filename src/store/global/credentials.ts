import { and, eq, isNotNull, isNull, ne, or, sql as expression } from 'drizzle-orm'
import { agents, credentials, memberships } from '../../../db/schema.ts'
import type { Permission } from '../../auth/actor.ts'
import { isOnTrial } from '../account/agents.ts'
import { p, runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import type { Lookups } from '../lookups.ts'
import { roleHas, whileGrantLives } from './oauth-access-old.ts'

/** A live credential and the agent or user behind it. */
export type Credential = NonNullable<
  Awaited<ReturnType<ReturnType<typeof prepareCredentials>['byHash']>>
>

/** Condition: the user behind the key has the permission. A key without a user depends on no role. */
const whileUserMay = (permission: Permission) => or(isNull(credentials.userId), roleHas(permission))

export function prepareCredentials(db: Db, crossAccountQueries: CrossAccountQueries, lookups: Lookups) {
  const byHash = db.select({
    accountId: credentials.accountId,
    id: credentials.id,
    kind: credentials.kind,
    userId: credentials.userId,
    grantId: credentials.grantId,
    lastUsedAt: credentials.lastUsedAt,
    agentId: agents.id,
    alias: agents.alias,
    onTrial: isOnTrial(db),
  }).from(credentials)
    .leftJoin(
      agents,
      and(
        eq(agents.accountId, credentials.accountId),
        eq(agents.id, credentials.agentId),
        // No program acts as a person, whatever rows there are.
        ne(agents.type, expression`'human'`),
        isNull(agents.deletedAt),
      ),
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
      whileGrantLives(db),
      // An agent key is live while its agent is. A key with a user behind it also needs that user's role.
      or(
        and(eq(credentials.kind, 'agent_key'), isNotNull(agents.id), whileUserMay('use')),
        and(eq(credentials.kind, 'admin_key'), whileUserMay('manage')),
      ),
    )).limit(1).prepare()
  const { sql } = byHash.getQuery()
  crossAccountQueries.set(sql, 'credential by hash')
  const lookup = lookups.of<Awaited<ReturnType<typeof byHash.all>>[number]>({
    sql,
    // A key with a grant is not kept, because the grant ends by itself.
    ignores: ({ table, column }) => table === 'oauth_grants' || column === 'last_used_at',
  })

  return {
    /**
     * The credential with this SHA-256, unless it is revoked, its agent was deleted or is a person, its user lost the
     * role, or the grant that it was fetched with is not live at `at`. `lastUsedAt` may be that of an earlier call.
     */
    byHash: (hash: string, at: number) =>
      lookup.find(
        hash,
        async () => (await runQuery(byHash, { hash, at })).at(0),
        ({ accountId, grantId }) => grantId === null ? [accountId] : undefined,
      ),
  }
}
