import { and, between, count, eq, exists, gt, isNull, lte, or, sql } from 'drizzle-orm'
import { oauthClients, oauthGrants } from '../../../db/schema.ts'
import { type AddressRange, addressRange48 } from '../../lib/http/client-address.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

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

/**
 * How many clients one address, and its IPv6 /48, may register since a time, and how many registered clients are kept.
 * Beyond `total` the oldest unused ones go that registered by `youngSince`, and beyond `most` also younger ones. If more
 * than `total` are in use, those go that were last used by `idleSince`.
 */
export interface RegistrationLimits {
  perAddress: number
  perNetwork: number
  since: number
  total: number
  most: number
  youngSince: number
  idleSince: number
}

/** Most clients that a registration removes for each reason, so that it does not take long. */
const removedAtOnce = 1_000

/** When a client was last used, or when it registered. */
const lastUse = sql<number>`coalesce(${oauthClients.lastUsedAt}, ${oauthClients.createdAt})`

export function prepareOAuthClients(db: Db, crossAccountQueries: CrossAccountQueries) {
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

  const ofAddress = and(between(oauthClients.address, p('from'), p('to')), gt(oauthClients.createdAt, p('since')))
  const countFrom = (from: string, to: string) =>
    db.select({ n: count() }).from(oauthClients)
      .where(and(between(oauthClients.address, p(from), p(to)), gt(oauthClients.createdAt, p('since'))))
  const oldestFromAddress = db.select({ n: count(), oldest: sql<number | null>`min(${oauthClients.createdAt})` })
    .from(oauthClients).where(ofAddress).prepare()
  const ofKind = db.select({ n: count() }).from(oauthClients).where(eq(oauthClients.kind, p('kind')))
  const unused = and(eq(oauthClients.kind, p('kind')), isNull(oauthClients.lastUsedAt))
  const isIdle = and(eq(oauthClients.kind, p('kind')), lte(oauthClients.lastUsedAt, p('idleSince')))
  const any = (condition: typeof unused) => exists(db.select({ one: sql`1` }).from(oauthClients).where(condition))
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
      sql`(${countFrom('address', 'address')}) < ${p('perAddress')}`,
      sql`(${countFrom('from', 'to')}) < ${p('perNetwork')}`,
      or(any(unused), any(isIdle), sql`(${ofKind}) < ${p('most')}`),
    )),
  ).onConflictDoUpdate({ target: oauthClients.id, set: { id: sql`excluded.id` } }).returning({ id: oauthClients.id })
    .toSQL()
  const used = db.select({ n: count(oauthClients.lastUsedAt) }).from(oauthClients).where(
    eq(oauthClients.kind, p('kind')),
  )
  const beyondTotal = (n: typeof ofKind | typeof used) =>
    sql`min(${p('atOnce')}, max(0, (${n}) - ${p('total')}))` as unknown as number
  const isOther = sql`${oauthClients.id} <> ${p('except')}`
  const oldestUnused = db.select({ id: oauthClients.id }).from(oauthClients)
    .where(and(unused, lte(oauthClients.createdAt, p('youngSince')), isOther)).orderBy(oauthClients.createdAt)
    .limit(beyondTotal(ofKind))
  const evictUnused = db.delete(oauthClients).where(sql`${oauthClients.id} IN ${oldestUnused}`).toSQL()
  const longestIdle = db.select({ id: oauthClients.id }).from(oauthClients).where(isIdle)
    .orderBy(oauthClients.lastUsedAt).limit(beyondTotal(used))
  const evictIdle = db.delete(oauthClients).where(sql`${oauthClients.id} IN ${longestIdle}`).toSQL()

  // The clients that a user authorized, least recently used first, unless another user has authorized them too.
  const ofUser = db.selectDistinct({ id: oauthClients.id, usedAt: lastUse.as('used_at') }).from(oauthGrants)
    .innerJoin(oauthClients, eq(oauthClients.id, oauthGrants.clientId))
    .where(and(
      eq(oauthGrants.userId, p('user')),
      eq(oauthClients.kind, sql`'registered'`),
      sql`${oauthClients.id} <> ${p('except')}`,
    )).orderBy(sql`used_at DESC`).limit(sql`-1` as unknown as number).offset(sql`${p('max')} - 1` as unknown as number)
  const removeOfUser = db.delete(oauthClients).where(and(
    sql`${oauthClients.id} IN (SELECT id FROM ${ofUser})`,
    sql`NOT EXISTS (SELECT 1 FROM oauth_grants AS other WHERE other.client_id = ${oauthClients.id}
      AND other.user_id <> ${p('user')} AND other.revoked_at IS NULL AND other.expires_at > ${p('at')})`,
  )).toSQL()
  crossAccountQueries.set(removeOfUser.sql, 'clients of a user')

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
    /** How many clients some addresses registered since a time, and when they registered the oldest of them. */
    fromAddress: async ({ from, to }: AddressRange, since: number) =>
      (await runQuery(oldestFromAddress, { from, to, since }))[0],
    /**
     * Register a client, then delete those beyond the limits. The first statement returns no row if a limit of the
     * address is reached, or if there are `most` clients that are all in use.
     */
    add: (client: NewClient, limits: RegistrationLimits, at: number): Statement[] => {
      const { perAddress, perNetwork, since, total, most, youngSince, idleSince } = limits
      const kind = 'registered'
      const network = addressRange48(client.address)
      const unused = { kind, except: client.id, atOnce: removedAtOnce }
      return [
        bind(add, { ...client, ...network, kind, perAddress, perNetwork, since, most, idleSince, at }),
        bind(evictUnused, { ...unused, total, youngSince }),
        bind(evictIdle, { kind, total, idleSince, atOnce: removedAtOnce }),
        bind(evictUnused, { ...unused, total: most, youngSince: at }),
      ]
    },
    /**
     * Delete the least recently used clients beyond `max` that a user authorized and no other user has. `except` is the
     * one that is being authorized.
     */
    removeOfUser: (user: string, except: string, max: number, at: number): Statement =>
      bind(removeOfUser, { user, except, max, at }),
    /** Two statements: store a document, then delete the oldest unused documents beyond `total`. */
    saveDocument: (document: ClientDocument, total: number, at: number): Statement[] => [
      bind(saveDocument, { ...document, at }),
      bind(evictUnused, { kind: 'document', total, except: document.id, youngSince: at, atOnce: removedAtOnce }),
    ],
    /** Record that the client got a token, which extends its life. */
    markUsed: (id: string, expiresAt: number, at: number): Statement => bind(markUsed, { id, expiresAt, at }),
    removeExpired: (at: number, limit: number): Statement => ({ ...bind(removeExpired, { at, limit }), rows: limit }),
  }
}
