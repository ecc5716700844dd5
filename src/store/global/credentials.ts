import { and, eq, inArray, isNotNull, isNull, or } from 'drizzle-orm'
import { agents, credentials, memberships } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, p } from '../bound.ts'

/** A live credential and whom it stands for. */
export type Credential = NonNullable<
  Awaited<ReturnType<ReturnType<typeof prepareCredentials>['byHash']>>
>

export function prepareCredentials(db: Db, crossings: Crossings) {
  const byHash = db.select({
    accountId: credentials.accountId,
    id: credentials.id,
    kind: credentials.kind,
    userId: credentials.userId,
    lastUsedAt: credentials.lastUsedAt,
    agentId: agents.id,
    alias: agents.alias,
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
        inArray(memberships.role, ['owner', 'admin']),
      ),
    )
    .where(and(
      eq(credentials.hash, p('hash')),
      isNull(credentials.revokedAt),
      // An agent key lives with its agent. An admin key made by a person lives with that
      // person's role; one made on the command line has nobody whose role could end.
      or(
        and(eq(credentials.kind, 'agent_key'), isNotNull(agents.id)),
        and(eq(credentials.kind, 'admin_key'), or(isNull(credentials.userId), isNotNull(memberships.userId))),
      ),
    )).limit(1).prepare()
  crossings.set(byHash.getQuery().sql, 'credential by hash')

  return {
    /** The credential with this SHA-256, unless it is revoked or what it stood for has gone. */
    byHash: async (hash: string) => (await ask(byHash, { hash }))[0],
  }
}
