/** Clients: finding them by their id, and letting them prove who they are. */
import { hashSecret, isSameSecret } from '../auth/secrets.ts'
import { GridError } from '../errors.ts'
import { day } from '../lib/time.ts'
import type { AuthMethod, StoredClient } from '../store/global/oauth-clients.ts'
import type { Store } from '../store/store.ts'
import { documentLimits, isDocumentUrl, readDocument } from './client-document.ts'
import { parameter } from './form.ts'

/** Security O10. */
export const unusedClientMs = 30 * day
export const usedClientMs = 90 * day

/** Documents that nobody signed in with are kept up to this many. */
const maxDocuments = 1_000
/** More are not fetched at the same time. */
const maxFetches = 8

export interface Client {
  id: string
  name: string
  redirectUris: string[]
  authMethod: AuthMethod
  /** SHA-256; null for public clients. */
  secretHash: string | null
  /** The host that its document is on; undefined when it registered itself. */
  domain: string | undefined
}

export interface Clients {
  /**
   * The client with this id, or undefined. For a person who is asked, the copy of a document must be fresh. For a
   * token the stored one will do, however old: a login does not end with somebody else's web server, and strangers
   * make the grid call nobody.
   */
  find(id: string, purpose: 'authorize' | 'token'): Promise<Client | undefined>
}

/** The clients of this grid: those that registered, and those known by a document. */
export function createClients({ global, write, deps }: Store): Clients {
  const { config, log, now, safeFetch } = deps
  const fetches = new Map<string, Promise<Client | undefined>>()

  async function find(id: string, purpose: 'authorize' | 'token'): Promise<Client | undefined> {
    const isDocument = isDocumentUrl(id)
    if (isDocument && !mayFetch(new URL(id).hostname)) return undefined
    const stored = await global.oauth.clients.byId(id, now())
    if (!isDocument) return stored?.kind === 'registered' ? asClient(stored) : undefined
    if (stored?.kind === 'document' && (purpose === 'token' || stored.freshUntil! > now())) return asClient(stored)
    return purpose === 'token' ? undefined : await fetchOnce(id)
  }

  function mayFetch(host: string): boolean {
    if (config.oauthCimd === 'off') return false
    return config.oauthCimdHosts.includes('*') || config.oauthCimdHosts.includes(host)
  }

  /** Whoever asks for the same document meanwhile gets the same answer. */
  function fetchOnce(url: string): Promise<Client | undefined> {
    const running = fetches.get(url)
    if (running) return running
    if (fetches.size >= maxFetches) return Promise.resolve(undefined)
    const fetching = fetchAndKeep(url).finally(() => fetches.delete(url))
    fetches.set(url, fetching)
    return fetching
  }

  async function fetchAndKeep(url: string): Promise<Client | undefined> {
    try {
      const { name, redirectUris, freshMs } = readDocument(url, await safeFetch(url, documentLimits))
      const at = now()
      const copy = { id: url, name, redirectUris: JSON.stringify(redirectUris) }
      const times = { freshUntil: at + freshMs, expiresAt: at + unusedClientMs }
      await write(global.oauth.clients.keepDocument({ ...copy, ...times }, maxDocuments, at))
      return asClient({ ...copy, kind: 'document', authMethod: 'none', secretHash: null })
    } catch (error) {
      // An error is not kept: the next login asks again.
      log.info('The document of an OAuth client could not be used', { host: new URL(url).host, error })
      return undefined
    }
  }

  return { find }
}

function asClient(
  { id, kind, name, redirectUris, authMethod, secretHash }: Omit<StoredClient, 'freshUntil' | 'expiresAt'>,
): Client {
  const domain = kind === 'document' ? new URL(id).host : undefined
  return { id, name, redirectUris: JSON.parse(redirectUris), authMethod, secretHash, domain }
}

/**
 * The client that sends a form, proved by exactly the method it is registered with.
 * Fails with `invalid_client`, or `invalid_request` when it proves itself twice.
 * @see RFC 6749 §2.3.1, §3.2.1
 */
export async function authenticateClient(clients: Clients, request: Request, form: URLSearchParams): Promise<Client> {
  const shown = credentialsOf(request.headers.get('authorization'), form)
  const client = shown.id === undefined ? undefined : await clients.find(shown.id, 'token')
  if (!client) throw new GridError('invalid_client', 'Unknown client')
  if (shown.method !== client.authMethod) {
    throw new GridError('invalid_client', `This client authenticates with ${client.authMethod}.`)
  }
  if (client.secretHash !== null && !isSameSecret(await hashSecret(shown.secret ?? ''), client.secretHash)) {
    throw new GridError('invalid_client', 'The client secret is wrong.')
  }
  return client
}

interface Shown {
  id: string | undefined
  method: AuthMethod
  secret?: string
}

function credentialsOf(authorization: string | null, form: URLSearchParams): Shown {
  const inBody = { id: parameter(form, 'client_id'), secret: parameter(form, 'client_secret') }
  if (authorization === null) {
    return { ...inBody, method: inBody.secret === undefined ? 'none' : 'client_secret_post' }
  }
  const basic = basicOf(authorization)
  if (!basic) throw new GridError('invalid_client', 'The Authorization header is not Basic with an id and a secret.')
  if (inBody.secret !== undefined || (inBody.id !== undefined && inBody.id !== basic.id)) {
    throw new GridError('invalid_request', 'The client authenticates in the header or in the body, not in both.')
  }
  return { ...basic, method: 'client_secret_basic' }
}

/** Both halves are form-encoded before they are joined. */
function basicOf(authorization: string): { id: string; secret: string } | undefined {
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
