import { desc, eq, exists, isNull, ne, sql } from 'drizzle-orm'
import { credentials } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, mine, own, p, type Scope } from '../driver/binding.ts'

/** What is stored of an agent key or admin key. */
export interface NewKey {
  id: string
  kind: 'agent_key' | 'admin_key'
  agentId: string | null
  userId: string | null
  name: string
  hash: string
  last4: string
}

export function prepareKeys(db: Db) {
  const add = db.insert(credentials).values(mine({
    id: p('id'),
    kind: p('kind'),
    agentId: p('agentId'),
    userId: p('userId'),
    name: p('name'),
    hash: p('hash'),
    last4: p('last4'),
    createdAt: p('at'),
  })).onConflictDoNothing().toSQL()
  const adminKeys = db.select({
    id: credentials.id,
    name: credentials.name,
    last4: credentials.last4,
    userId: credentials.userId,
    createdAt: credentials.createdAt,
    lastUsedAt: credentials.lastUsedAt,
  }).from(credentials)
    .where(own(credentials, eq(credentials.kind, 'admin_key'), isNull(credentials.revokedAt)))
    .orderBy(desc(credentials.createdAt), desc(credentials.id)).prepare()
  const liveAdminKey = own(
    credentials,
    eq(credentials.id, p('id')),
    eq(credentials.kind, 'admin_key'),
    isNull(credentials.revokedAt),
  )
  const oneAdminKey = db.select({ id: credentials.id }).from(credentials).where(liveAdminKey)
  const adminKey = oneAdminKey.prepare()
  const requireLiveAdminKey = demand(db, exists(oneAdminKey))
  const revokeAdminKey = db.update(credentials).set({ revokedAt: sql`${p('at')}` }).where(liveAdminKey).toSQL()
  const revokeOfAgent = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(own(credentials, eq(credentials.agentId, p('agent')), isNull(credentials.revokedAt))).toSQL()
  const revokeOthersOfAgent = db.update(credentials).set({ revokedAt: sql`${p('at')}` }).where(own(
    credentials,
    eq(credentials.agentId, p('agent')),
    ne(credentials.id, p('id')),
    isNull(credentials.revokedAt),
  )).toSQL()
  const revokeOfUser = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(own(
      credentials,
      eq(credentials.userId, p('user')),
      isNull(credentials.revokedAt),
      sql`${credentials.kind} IN (SELECT value FROM json_each(${p('kinds')}))`,
    )).toSQL()
  const liveKeysOfAgent = own(
    credentials,
    eq(credentials.agentId, p('agent')),
    eq(credentials.kind, 'agent_key'),
    isNull(credentials.revokedAt),
  )
  const ofAgent = db.select({
    last4: credentials.last4,
    createdAt: credentials.createdAt,
    lastUsedAt: credentials.lastUsedAt,
  }).from(credentials).where(liveKeysOfAgent).orderBy(desc(credentials.createdAt)).prepare()
  const everAdminKey = db.select({ id: credentials.id, name: credentials.name, last4: credentials.last4 })
    .from(credentials).where(own(credentials, eq(credentials.kind, 'admin_key')))
    .orderBy(desc(credentials.createdAt)).limit(200).prepare()
  const used = db.update(credentials).set({ lastUsedAt: sql`${p('at')}` })
    .where(own(credentials, eq(credentials.id, p('id')))).toSQL()

  return {
    reads: (scope: Scope) => ({
      /** Live admin keys without their secret, newest first. */
      adminKeys: () => scope.all(adminKeys),
      /** The newest 200 admin keys there ever were. */
      everAdminKey: () => scope.all(everAdminKey),
      /** Live keys of an agent without their secret, newest first. */
      ofAgent: (agent: string) => scope.all(ofAgent, { agent }),
      isLiveAdminKey: async (id: string) => (await scope.one(adminKey, { id })) !== undefined,
    }),
    changes: (scope: Scope) => ({
      /** Repeated, it does nothing. A constraint error when its agent is missing. */
      add: (key: NewKey, at: number) => scope.bind(add, { ...key, at }),
      /** Fails the unit unless the admin key is live when it runs. */
      requireLiveAdminKey: (id: string) => scope.bind(requireLiveAdminKey, { id }),
      revokeAdminKey: (id: string, at: number) => scope.bind(revokeAdminKey, { id, at }),
      /** End every key of an agent. */
      revokeOfAgent: (agent: string, at: number) => scope.bind(revokeOfAgent, { agent, at }),
      /** End every key of an agent but one. */
      revokeOthersOfAgent: (agent: string, id: string, at: number) =>
        scope.bind(revokeOthersOfAgent, { agent, id, at }),
      /** End every key of these kinds that a person is behind. */
      revokeOfUser: (user: string, kinds: NewKey['kind'][], at: number) =>
        scope.bind(revokeOfUser, { user, kinds: JSON.stringify(kinds), at }),
      used: (id: string, at: number) => scope.bind(used, { id, at }),
    }),
  }
}
