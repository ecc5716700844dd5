/** Client lookup by id, and client authentication. */
import { GridError } from '../errors.ts'
import { ConcurrencyLimit } from '../lib/limits/concurrency-limit.ts'
import { hashForLookup, isSameSecret } from '../lib/secrets.ts'
import { day } from '../lib/time.ts'
import type { AuthMethod, StoredClient } from '../store/global/oauth-clients.ts'
import type { Store } from '../store/store.ts'
import { documentLimits, isDocumentUrl, parseClientDocument } from './client-document.ts'
import { parameter } from './form.ts'

/** The lifetime from registration (unused clients) or last use (used clients). See docs/security.md, "OAuth". */
export const unusedClientMs = 30 * day
export const usedClientMs = 90 * day

/** Maximum number of stored documents that no login has used. */
const maxUnusedDocuments = 1_000
/** Maximum number of concurrent document fetches. */
const fetchLimits = { perKey: 2, perGroup: 2, total: 8 }

export interface Client {
  id: string
  name: string
  redirectUris: string[]
  authMethod: AuthMethod
  /** The secret's SHA-256. Null for public clients. */
  secretHash: string | null
  /** The metadata document's host. Undefined for a client that registered itself. */
  domain: string | undefined
}

export type Clients = ReturnType<typeof createClients>

/** Dependencies of the OAuth endpoints. */
export interface OAuthParts {
  store: Store
  clients: Clients
  /** Returns the grid's resource URL for a `resource` parameter, or the default URL. Fails with `invalid_target`. */
  resourceOf(requested: string | undefined): string
}

/** Finds this grid's clients: registered clients, and clients with a metadata document. */
export function createClients({ global, write, deps }: Store) {
  const { config, log, now, safeFetch } = deps
  const places = new ConcurrencyLimit(fetchLimits)
  const fetches = new Map<string, Promise<Client | undefined>>()

  /**
   * Returns the client with this id, or undefined. Authorization requires a fresh copy of the document, and fetches one
   * for `user` if necessary. Issuing a token accepts any stored copy, so that logins survive an outage of the client's
   * web server, and anonymous callers cannot make the grid send requests.
   */
  async function find(id: string, purpose: 'authorize' | 'token', user = ''): Promise<Client | undefined> {
    const isDocument = isDocumentUrl(id)
    if (isDocument && !mayFetch(new URL(id).hostname)) return undefined
    const stored = await global.oauth.clients.byId(id, now())
    if (!isDocument) return stored?.kind === 'registered' ? toClient(stored) : undefined
    if (stored?.kind === 'document' && (purpose === 'token' || stored.freshUntil! > now())) return toClient(stored)
    return purpose === 'token' ? undefined : await fetchOnce(id, user)
  }

  function mayFetch(host: string): boolean {
    if (config.oauthCimd === 'off') return false
    return config.oauthCimdHosts.includes('*') || config.oauthCimdHosts.includes(host)
  }

  /**
   * Shares one fetch among concurrent lookups of the same document. Slow documents that one user requests take no slots
   * from other users.
   */
  function fetchOnce(url: string, user: string): Promise<Client | undefined> {
    const running = fetches.get(url)
    if (running) return running
    const release = places.acquire(user, user)
    if (!release) return Promise.resolve(undefined)
    const fetched = fetchAndKeep(url).finally(() => {
      release()
      fetches.delete(url)
    })
    fetches.set(url, fetched)
    return fetched
  }

  async function fetchAndKeep(url: string): Promise<Client | undefined> {
    try {
      const { name, redirectUris, freshMs } = parseClientDocument(url, await safeFetch(url, documentLimits))
      const at = now()
      const copy = { id: url, name, redirectUris: JSON.stringify(redirectUris) }
      const times = { freshUntil: at + freshMs, expiresAt: at + unusedClientMs }
      await write(global.oauth.clients.saveDocument({ ...copy, ...times }, maxUnusedDocuments, at))
      return toClient({ ...copy, kind: 'document', authMethod: 'none', secretHash: null })
    } catch (error) {
      // Errors are not cached, so the next login retries the fetch.
      log.info('The metadata document of an OAuth client could not be used', { host: new URL(url).host, error })
      return undefined
    }
  }

  return { find }
}

function toClient(
  { id, kind, name, redirectUris, authMethod, secretHash }: Omit<StoredClient, 'freshUntil' | 'expiresAt'>,
): Client {
  const domain = kind === 'document' ? new URL(id).host : undefined
  return { id, name, redirectUris: JSON.parse(redirectUris), authMethod, secretHash, domain }
}

/**
 * Authenticates the client that sent a form. Accepts only the method that the client registered. Fails with
 * `invalid_client`, or with `invalid_request` if the header and the body contain different credentials.
 * @see RFC 6749 §2.3.1, §3.2.1
 */
export async function authenticateClient(clients: Clients, request: Request, form: URLSearchParams): Promise<Client> {
  const presented = credentialsOf(request.headers.get('authorization'), form)
  const client = presented.id === undefined ? undefined : await clients.find(presented.id, 'token')
  if (!client) throw new GridError('invalid_client', 'Unknown client.')
  const isOwnMethod = presented.method === client.authMethod ||
    (presented.isInBoth && client.authMethod === 'client_secret_post')
  if (!isOwnMethod) {
    throw new GridError('invalid_client', `This client authenticates with ${client.authMethod}.`)
  }
  if (client.secretHash !== null && !isSameSecret(hashForLookup(presented.secret ?? ''), client.secretHash)) {
    throw new GridError('invalid_client', 'The client secret is wrong.')
  }
  return client
}

interface ClientCredentials {
  id: string | undefined
  method: AuthMethod
  secret?: string
  /** Whether the header and the body contain the same secret. */
  isInBoth?: boolean
}

function credentialsOf(authorization: string | null, form: URLSearchParams): ClientCredentials {
  const inBody = { id: parameter(form, 'client_id'), secret: parameter(form, 'client_secret') }
  if (authorization === null) {
    return { ...inBody, method: inBody.secret === undefined ? 'none' : 'client_secret_post' }
  }
  const basic = parseBasic(authorization)
  if (!basic) {
    throw new GridError('invalid_client', 'The Authorization header must use Basic with a client id and a secret.')
  }
  const differs = (given: string | undefined, other: string) => given !== undefined && given !== other
  if (differs(inBody.secret, basic.secret) || differs(inBody.id, basic.id)) {
    throw new GridError('invalid_request', 'The Authorization header and the body name different clients.')
  }
  // An empty secret means none, because some clients send only their id in the header.
  return basic.secret === ''
    ? { id: basic.id, method: 'none' }
    : { ...basic, method: 'client_secret_basic', isInBoth: inBody.secret !== undefined }
}

/** The id and the secret are form-encoded before they are joined. @see RFC 6749 §2.3.1 */
function parseBasic(authorization: string): { id: string; secret: string } | undefined {
  const encoded = authorization.match(/^Basic +([A-Za-z0-9+/]+={0,2})$/i)?.[1]
  if (encoded === undefined) return undefined
  try {
    const [id, ...rest] = atob(encoded).split(':')
    const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
    return rest.length === 0 ? undefined : { id: decode(id), secret: decode(rest.join(':')) }
  } catch {
    return undefined
  }
}
