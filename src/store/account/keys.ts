import { desc, eq, exists, isNull, ne, sql } from 'drizzle-orm'
import { credentials } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account.ts'

/** A new agent key or admin key. `hash` is the SHA-256 of the secret. */
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
  const add = db.insert(credentials).values(withAccount({
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
    .where(inAccount(credentials, eq(credentials.kind, 'admin_key'), isNull(credentials.revokedAt)))
    .orderBy(desc(credentials.createdAt), desc(credentials.id)).prepare()
  const liveAdminKey = inAccount(
    credentials,
    eq(credentials.id, p('id')),
    eq(credentials.kind, 'admin_key'),
    isNull(credentials.revokedAt),
  )
  const oneAdminKey = db.select({ id: credentials.id }).from(credentials).where(liveAdminKey)
  const adminKey = oneAdminKey.prepare()
  const requireLiveAdminKey = precondition(db, exists(oneAdminKey))
  const revokeAdminKey = db.update(credentials).set({ revokedAt: sql`${p('at')}` }).where(liveAdminKey).toSQL()
  const revokeOfAgent = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(inAccount(credentials, eq(credentials.agentId, p('agent')), isNull(credentials.revokedAt))).toSQL()
  const revokeOthersOfAgent = db.update(credentials).set({ revokedAt: sql`${p('at')}` }).where(inAccount(
    credentials,
    eq(credentials.agentId, p('agent')),
    ne(credentials.id, p('id')),
    isNull(credentials.revokedAt),
  )).toSQL()
  const revokeOfUser = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(inAccount(
      credentials,
      eq(credentials.userId, p('user')),
      isNull(credentials.revokedAt),
      sql`${credentials.kind} IN (SELECT value FROM json_each(${p('kinds')}))`,
    )).toSQL()
  const liveKeysOfAgent = inAccount(
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
  const allAdminKeys = db.select({ id: credentials.id, name: credentials.name, last4: credentials.last4 })
    .from(credentials).where(inAccount(credentials, eq(credentials.kind, 'admin_key')))
    .orderBy(desc(credentials.createdAt)).limit(200).prepare()
  const markUsed = db.update(credentials).set({ lastUsedAt: sql`${p('at')}` })
    .where(inAccount(credentials, eq(credentials.id, p('id')))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** Live admin keys without their secret, newest first. */
      adminKeys: () => account.all(adminKeys),
      /** The newest 200 admin keys, also revoked ones. */
      allAdminKeys: () => account.all(allAdminKeys),
      /** Live keys of an agent without their secret, newest first. */
      ofAgent: (agent: string) => account.all(ofAgent, { agent }),
      isLiveAdminKey: async (id: string) => (await account.one(adminKey, { id })) !== undefined,
    }),
    changes: (account: AccountBinding) => ({
      /** Does nothing when it is repeated. A constraint error if its agent is missing. */
      add: (key: NewKey, at: number) => account.bind(add, { ...key, at }),
      /** Fails the unit unless the admin key is live when it runs. */
      requireLiveAdminKey: (id: string) => account.bind(requireLiveAdminKey, { id }),
      revokeAdminKey: (id: string, at: number) => account.bind(revokeAdminKey, { id, at }),
      /** Revoke every key of an agent. */
      revokeOfAgent: (agent: string, at: number) => account.bind(revokeOfAgent, { agent, at }),
      /** Revoke every key of an agent except one. */
      revokeOthersOfAgent: (agent: string, id: string, at: number) =>
        account.bind(revokeOthersOfAgent, { agent, id, at }),
      /** Revoke every key of these kinds that belongs to a user. */
      revokeOfUser: (user: string, kinds: NewKey['kind'][], at: number) =>
        account.bind(revokeOfUser, { user, kinds: JSON.stringify(kinds), at }),
      markUsed: (id: string, at: number) => account.bind(markUsed, { id, at }),
    }),
  }
}
