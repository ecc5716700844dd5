import type { oauthClients } from '../../../db/schema.ts'
import { crossAccountStatement, type Db, query, type Statement, statement } from '../sql.ts'

type Client = typeof oauthClients.$inferSelect

export type AuthMethod = Client['authMethod']

/** A client as stored. `redirectUris` is JSON; times are milliseconds since the epoch. */
export type StoredClient = Pick<
  Client,
  'id' | 'kind' | 'name' | 'redirectUris' | 'authMethod' | 'secretHash' | 'freshUntil' | 'expiresAt'
>

/** A client that registers itself. */
interface NewClient {
  id: string
  name: string
  redirectUris: string
  authMethod: AuthMethod
  secretHash: string | null
  expiresAt: number
}

/** A stored copy of a client ID metadata document. */
interface ClientDocument {
  id: string
  name: string
  redirectUris: string
  freshUntil: number
  expiresAt: number
}

/**
 * Limits on stored registered clients. If there are more than `total`, never-used clients registered before
 * `youngSince` are removed, oldest first. If there are more than `most`, newer never-used clients are removed too. If
 * more than `total` clients have ever been used, those not used since `idleSince` are removed.
 */
interface RegistrationLimits {
  total: number
  most: number
  youngSince: number
  idleSince: number
}

/** Maximum number of clients that a registration removes for each reason, so that it stays fast. */
const removedAtOnce = 1_000

const byId = query<StoredClient>(`
  SELECT id, kind, name, redirect_uris, auth_method, secret_hash, fresh_until, expires_at FROM oauth_clients
  WHERE id = :id AND expires_at > :at`)

const unused = `SELECT id FROM oauth_clients WHERE kind = :kind AND last_used_at IS NULL`
const idle = `SELECT id FROM oauth_clients WHERE kind = 'registered' AND last_used_at <= :idleSince`
const add = statement(`
  INSERT INTO oauth_clients
    (id, kind, name, redirect_uris, auth_method, secret_hash, created_at, expires_at)
  SELECT :id, :kind, :name, :redirectUris, :authMethod, :secretHash, :at, :expiresAt
  WHERE EXISTS (${unused}) OR EXISTS (${idle}) OR (SELECT count(*) FROM oauth_clients WHERE kind = :kind) < :most
  ON CONFLICT (id) DO UPDATE SET id = excluded.id
  RETURNING id`)
const evictUnused = statement(`
  DELETE FROM oauth_clients WHERE id IN (
    ${unused} AND created_at <= :youngSince AND id <> :except
    ORDER BY created_at
    LIMIT min(${removedAtOnce}, max(0, (SELECT count(*) FROM oauth_clients WHERE kind = :kind) - :total)))`)
const evictIdle = statement(`
  DELETE FROM oauth_clients WHERE id IN (
    ${idle}
    ORDER BY last_used_at
    LIMIT min(${removedAtOnce}, max(0,
      (SELECT count(last_used_at) FROM oauth_clients WHERE kind = 'registered') - :total)))`)
// Deletes the user's least recently used clients, except clients that another user has authorized too.
const removeOfUser = crossAccountStatement(
  'clients of a user',
  `
  DELETE FROM oauth_clients
  WHERE id IN (SELECT id FROM (
      SELECT DISTINCT oauth_clients.id, coalesce(oauth_clients.last_used_at, oauth_clients.created_at) AS used_at
      FROM oauth_grants JOIN oauth_clients ON oauth_clients.id = oauth_grants.client_id
      WHERE oauth_grants.user_id = :user AND oauth_clients.kind = 'registered' AND oauth_clients.id <> :except
      ORDER BY used_at DESC LIMIT -1 OFFSET :max - 1))
    AND NOT EXISTS (
      SELECT 1 FROM oauth_grants AS other
      WHERE other.client_id = oauth_clients.id AND other.user_id <> :user
        AND other.revoked_at IS NULL AND other.expires_at > :at)`,
)

const saveDocument = statement(`
  INSERT INTO oauth_clients (id, kind, name, redirect_uris, auth_method, created_at, fresh_until, expires_at)
  VALUES (:id, 'document', :name, :redirectUris, 'none', :at, :freshUntil, :expiresAt)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, redirect_uris = excluded.redirect_uris,
    fresh_until = excluded.fresh_until, expires_at = max(oauth_clients.expires_at, excluded.expires_at)
  WHERE oauth_clients.kind = 'document'`)
const markUsed = statement(`UPDATE oauth_clients SET last_used_at = :at, expires_at = :expiresAt WHERE id = :id`)
const removeExpired = statement(`
  DELETE FROM oauth_clients
  WHERE id IN (SELECT id FROM oauth_clients WHERE expires_at <= :at LIMIT :limit)
  RETURNING id`)

export const clients = (db: Db) => ({
  byId: (id: string, at: number) => db.one(byId, { id, at }),
  /**
   * Registers a client, then deletes clients beyond the limits. The first statement returns no row if there is no room.
   */
  add: (client: NewClient, limits: RegistrationLimits, at: number): Statement[] => {
    const { total, most, youngSince, idleSince } = limits
    const kind = 'registered'
    const unused = { kind, except: client.id }
    return [
      db.bind(add, { ...client, kind, most, idleSince, at }),
      db.bind(evictUnused, { ...unused, total, youngSince }),
      db.bind(evictIdle, { total, idleSince }),
      db.bind(evictUnused, { ...unused, total: most, youngSince: at }),
    ]
  },
  /** Deletes the least recently used clients beyond `max` that only this user authorized, except one. */
  removeOfUser: (user: string, except: string, max: number, at: number): Statement =>
    db.bind(removeOfUser, { user, except, max, at }),
  /** Returns two statements: store a document, then delete the oldest unused documents beyond `total`. */
  saveDocument: (document: ClientDocument, total: number, at: number): Statement[] => [
    db.bind(saveDocument, { ...document, at }),
    db.bind(evictUnused, { kind: 'document', total, except: document.id, youngSince: at }),
  ],
  markUsed: (id: string, expiresAt: number, at: number): Statement => db.bind(markUsed, { id, expiresAt, at }),
  removeExpired: (at: number, limit: number): Statement => ({ ...db.bind(removeExpired, { at, limit }), rows: limit }),
})
