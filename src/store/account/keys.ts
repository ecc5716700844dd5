import { and, count, desc, eq, exists, isNotNull, isNull, ne, notExists, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { agents, credentials, memberships, oauthGrants, users } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { fetchingGrant, roleHas, whileGrantLives } from '../global/oauth-access.ts'
import { inAccount, withAccount } from '../in-account-old.ts'

/** How many keys of people who left one list shows. */
const maxListed = 200

/** A new agent key or admin key. `hash` is the SHA-256 of the secret. */
export interface NewKey {
  id: string
  kind: 'agent_key' | 'admin_key'
  agentId: string | null
  /** The user whose role the key depends on. */
  userId: string | null
  /** The grant with which a client fetched the agent key. */
  grantId?: string
  /** The user who was shown the agent key. */
  issuedBy?: string | null
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
    grantId: p('grantId'),
    issuedBy: p('issuedBy'),
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
  const own = alias(oauthGrants, 'own')
  const earlier = alias(oauthGrants, 'earlier')
  const sameClient = db.select({ one: sql`1` }).from(own)
    .innerJoin(
      earlier,
      and(
        eq(earlier.accountId, own.accountId),
        eq(earlier.clientId, own.clientId),
        eq(earlier.userId, own.userId),
        eq(earlier.id, credentials.grantId),
      ),
    )
    .where(inAccount(own, eq(own.id, p('grant'))))
  const revokeOfClient = db.update(credentials).set({ revokedAt: sql`${p('at')}` }).where(inAccount(
    credentials,
    eq(credentials.agentId, p('agent')),
    eq(credentials.name, p('name')),
    ne(credentials.id, p('id')),
    isNull(credentials.revokedAt),
    exists(sameClient),
  )).toSQL()
  const revokeAdminKeysOfUser = db.update(credentials).set({ revokedAt: sql`${p('at')}` })
    .where(inAccount(
      credentials,
      eq(credentials.userId, p('user')),
      eq(credentials.kind, sql`'admin_key'`),
      isNull(credentials.revokedAt),
    )).toSQL()
  const liveKeysOfAgent = inAccount(
    credentials,
    eq(credentials.agentId, p('agent')),
    eq(credentials.kind, 'agent_key'),
    isNull(credentials.revokedAt),
  )
  const nameOrEmail = sql<string | null>`coalesce(nullif(${users.name}, ''), ${users.email})`
  const ofAgent = db.select({
    id: credentials.id,
    name: credentials.name,
    last4: credentials.last4,
    client: oauthGrants.clientName,
    person: nameOrEmail.as('person'),
    createdAt: credentials.createdAt,
    lastUsedAt: credentials.lastUsedAt,
  }).from(credentials)
    .leftJoin(users, eq(users.id, sql`coalesce(${credentials.issuedBy}, ${credentials.userId})`))
    .leftJoin(oauthGrants, fetchingGrant)
    .where(and(liveKeysOfAgent, whileGrantLives(db)))
    .orderBy(desc(credentials.createdAt), desc(credentials.id)).prepare()

  const isOneOfAgent = inAccount(
    credentials,
    eq(credentials.id, p('id')),
    eq(credentials.agentId, p('agent')),
    eq(credentials.kind, 'agent_key'),
    isNull(credentials.revokedAt),
  )
  const oneOfAgent = db.select({ id: credentials.id, name: credentials.name, last4: credentials.last4 })
    .from(credentials).where(isOneOfAgent)
  const oneOfAgentById = oneOfAgent.prepare()
  const requireLiveOfAgent = precondition(db, exists(oneOfAgent))
  const revokeOneOfAgent = db.update(credentials).set({ revokedAt: sql`${p('at')}` }).where(isOneOfAgent).toSQL()
  const countOfAgent = db.select({ n: count() }).from(credentials).where(and(liveKeysOfAgent, whileGrantLives(db)))
  const requireAtMostOfAgent = precondition(db, sql`(${countOfAgent}) <= ${p('max')}`)

  const isIssued = inAccount(credentials, isNotNull(credentials.issuedBy), isNull(credentials.revokedAt))
  const issuers = db.select({ userId: sql<string>`${credentials.issuedBy}`.as('user_id'), keys: count() })
    .from(credentials).where(isIssued).groupBy(credentials.issuedBy).prepare()
  const mayStillUse = db.select({ one: sql`1` }).from(memberships)
    .where(inAccount(memberships, eq(memberships.userId, credentials.issuedBy), roleHas('use')))
  const ofFormerMembers = db.select({
    alias: agents.alias,
    person: nameOrEmail.as('person'),
    last4: credentials.last4,
    lastUsedAt: credentials.lastUsedAt,
  }).from(credentials)
    .innerJoin(agents, and(eq(agents.accountId, credentials.accountId), eq(agents.id, credentials.agentId)))
    .innerJoin(users, eq(users.id, credentials.issuedBy))
    .where(and(isIssued, notExists(mayStillUse)))
    .orderBy(agents.alias).limit(maxListed).prepare()
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
      /**
       * Keys of an agent that are live at `at`, without their secret, newest first. `name` may be empty; `client` is the program that fetched
       * the key; `person` the name or email address of the user who let it, or who was shown the key. Both may be null.
       */
      ofAgent: (agent: string, at: number) => account.all(ofAgent, { agent, at }),
      /** A key of the agent that is not revoked. */
      oneOfAgent: (agent: string, id: string) => account.one(oneOfAgentById, { agent, id }),
      /** How many live agent keys each user was shown. */
      issuers: () => account.all(issuers),
      /** Live agent keys that were shown to users who may no longer act as agents, by alias. At most 200. */
      ofFormerMembers: () => account.all(ofFormerMembers),
      isLiveAdminKey: async (id: string) => (await account.one(adminKey, { id })) !== undefined,
    }),
    changes: (account: AccountBinding) => ({
      /** Does nothing when it is repeated. A constraint error if its agent is missing. */
      add: ({ grantId, issuedBy, ...key }: NewKey, at: number) =>
        account.bind(add, { ...key, grantId: grantId ?? null, issuedBy: issuedBy ?? null, at }),
      /** Fails the unit unless the admin key is live when it runs. */
      requireLiveAdminKey: (id: string) => account.bind(requireLiveAdminKey, { id }),
      revokeAdminKey: (id: string, at: number) => account.bind(revokeAdminKey, { id, at }),
      /** Revoke every key of an agent. */
      revokeOfAgent: (agent: string, at: number) => account.bind(revokeOfAgent, { agent, at }),
      /** Revoke every key of an agent except one. */
      revokeOthersOfAgent: (agent: string, id: string, at: number) =>
        account.bind(revokeOthersOfAgent, { agent, id, at }),
      /** Fails the unit unless this key of the agent is not revoked when it runs. */
      requireLiveOfAgent: (agent: string, id: string) => account.bind(requireLiveOfAgent, { agent, id }),
      /** Fails the unit if the agent has more than `max` live keys at `at` when it runs. */
      requireAtMostOfAgent: (agent: string, max: number, at: number) =>
        account.bind(requireAtMostOfAgent, { agent, max, at }),
      /** Revoke one key of an agent. */
      revokeOneOfAgent: (agent: string, id: string, at: number) => account.bind(revokeOneOfAgent, { agent, id, at }),
      /**
       * Revoke the keys of this name, except one, that the client of a grant fetched for an agent by leave of the same
       * user.
       */
      revokeOfClient: (agent: string, grant: string, name: string, id: string, at: number) =>
        account.bind(revokeOfClient, { agent, grant, name, id, at }),
      /** Revoke every admin key that a user created. Fetched agent keys end with their grants. */
      revokeAdminKeysOfUser: (user: string, at: number) => account.bind(revokeAdminKeysOfUser, { user, at }),
      markUsed: (id: string, at: number) => ({ ...account.bind(markUsed, { id, at }), isTraffic: true }),
    }),
  }
}
