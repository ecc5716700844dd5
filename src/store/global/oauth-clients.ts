import { and, count, eq, exists, gt, isNull, lte, or, sql } from 'drizzle-orm'
import { oauthClients } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

export type AuthMethod = typeof oauthClients.$inferSelect.authMethod

/** A client as stored. `redirectUris` is JSON; times are milliseconds since the epoch. */
export type StoredClient = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareOAuthClients>['byId']>>>

/** A client that registers itself. `address` is the client address that the limit counts. */
export interface NewClient {
  id: string
  name: string
  /** JSON array. */
  redirectUris: string
  authMethod: AuthMethod
  secretHash: string | null
  address: string
  expiresAt: number
}

/** A stored copy of a client ID metadata document. */
export interface ClientDocument {
  /** The URL of the document. */
  id: string
  name: string
  /** JSON array. */
  redirectUris: string
  freshUntil: number
  expiresAt: number
}

/** How many clients one address may register since a time, and how many registered clients there may be in all. */
export interface RegistrationLimits {
  perAddress: number
  since: number
  total: number
}

export function prepareOAuthClients(db: Db) {
  const byId = db.select({
    id: oauthClients.id,
    kind: oauthClients.kind,
    name: oauthClients.name,
    redirectUris: oauthClients.redirectUris,
    authMethod: oauthClients.authMethod,
    secretHash: oauthClients.secretHash,
    freshUntil: oauthClients.freshUntil,
    expiresAt: oauthClients.expiresAt,
  }).from(oauthClients).where(and(eq(oauthClients.id, p('id')), gt(oauthClients.expiresAt, p('at')))).prepare()

  const ofAddress = and(eq(oauthClients.address, p('address')), gt(oauthClients.createdAt, p('since')))
  const fromAddress = db.select({ n: count() }).from(oauthClients).where(ofAddress)
  const oldestFromAddress = db.select({ n: count(), oldest: sql<number | null>`min(${oauthClients.createdAt})` })
    .from(oauthClients).where(ofAddress).prepare()
  const ofKind = db.select({ n: count() }).from(oauthClients).where(eq(oauthClients.kind, p('kind')))
  const unused = and(eq(oauthClients.kind, p('kind')), isNull(oauthClients.lastUsedAt))
  const anyUnused = db.select({ one: sql`1` }).from(oauthClients).where(unused)
  const add = db.insert(oauthClients).select(
    db.select({
      id: value('id'),
      kind: value<'registered'>('kind'),
      name: value('name'),
      redirectUris: value('redirectUris'),
      authMethod: value<AuthMethod>('authMethod'),
      secretHash: value<string | null>('secretHash'),
      address: value('address'),
      createdAt: value<number>('at'),
      lastUsedAt: sql<null>`NULL`.as('last_used_at'),
      freshUntil: sql<null>`NULL`.as('fresh_until'),
      expiresAt: value<number>('expiresAt'),
    }).from(sql`(SELECT 1)`).where(and(
      sql`(${fromAddress}) < ${p('perAddress')}`,
      or(sql`(${ofKind}) < ${p('total')}`, exists(anyUnused)),
    )),
  ).onConflictDoUpdate({ target: oauthClients.id, set: { id: sql`excluded.id` } }).returning({ id: oauthClients.id })
    .toSQL()
  const oldestUnused = db.select({ id: oauthClients.id }).from(oauthClients)
    .where(and(unused, sql`${oauthClients.id} <> ${p('except')}`)).orderBy(oauthClients.createdAt)
    .limit(sql`max(0, (${ofKind}) - ${p('total')})` as unknown as number)
  const evict = db.delete(oauthClients).where(sql`${oauthClients.id} IN ${oldestUnused}`).toSQL()

  const saveDocument = db.insert(oauthClients).values({
    id: p('id'),
    kind: 'document',
    name: p('name'),
    redirectUris: p('redirectUris'),
    authMethod: 'none',
    createdAt: p('at'),
    freshUntil: p('freshUntil'),
    expiresAt: p('expiresAt'),
  }).onConflictDoUpdate({
    target: oauthClients.id,
    set: {
      name: sql`excluded.name`,
      redirectUris: sql`excluded.redirect_uris`,
      freshUntil: sql`excluded.fresh_until`,
      expiresAt: sql`max(${oauthClients.expiresAt}, excluded.expires_at)`,
    },
    setWhere: eq(oauthClients.kind, sql`'document'`),
  }).toSQL()
  const markUsed = db.update(oauthClients).set({ lastUsedAt: sql`${p('at')}`, expiresAt: sql`${p('expiresAt')}` })
    .where(eq(oauthClients.id, p('id'))).toSQL()
  const expired = db.select({ id: oauthClients.id }).from(oauthClients).where(lte(oauthClients.expiresAt, p('at')))
    .limit(p('limit'))
  const removeExpired = db.delete(oauthClients).where(sql`${oauthClients.id} IN ${expired}`)
    .returning({ id: oauthClients.id }).toSQL()

  return {
    /** A client that has not expired. */
    byId: async (id: string, at: number) => (await runQuery(byId, { id, at }))[0],
    /** How many clients an address registered since a time, and when it registered the oldest of them. */
    fromAddress: async (address: string, since: number) => (await runQuery(oldestFromAddress, { address, since }))[0],
    /**
     * Two statements: register a client, then delete the oldest unused clients beyond `total`. The first returns no
     * row if the address or the grid has reached its limit.
     */
    add: (client: NewClient, { perAddress, since, total }: RegistrationLimits, at: number): Statement[] => [
      bind(add, { ...client, kind: 'registered', perAddress, since, total, at }),
      bind(evict, { kind: 'registered', total, except: client.id }),
    ],
    /** Two statements: store a document, then delete the oldest unused documents beyond `total`. */
    saveDocument: (document: ClientDocument, total: number, at: number): Statement[] => [
      bind(saveDocument, { ...document, at }),
      bind(evict, { kind: 'document', total, except: document.id }),
    ],
    /** Record that the client got a token, which extends its life. */
    markUsed: (id: string, expiresAt: number, at: number): Statement => bind(markUsed, { id, expiresAt, at }),
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}
