/** Clients that use the URL of their metadata document as their id (OAuth Client ID Metadata Document, draft 00). */
import * as z from 'zod'
import { clearTimeout, setInterval, setTimeout } from 'node:timers'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { parseAnswer } from '../lib/http/body.ts'
import type { SafeResponse } from '../lib/outbound/safe-fetch.ts'
import { check } from '../lib/input.ts'
import { plainName } from '../lib/names.ts'
import { hour, second } from '../lib/time.ts'

/** The limits for fetching a document. See docs/security.md, "OAuth". */
export const documentLimits = { maxBytes: 64 * 1024, timeoutMs: 5_000 } as const

const maxFreshMs = 24 * 3_600_000
/** How long a document without `max-age` is fresh. */
const defaultFreshMs = 5 * 60_000
const maxRedirectUris = 20

const metadata = z.object({
  client_id: z.string(),
  client_name: z.string().min(1),
  redirect_uris: z.array(z.string()).min(1),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  client_secret: z.undefined().optional(),
  client_secret_expires_at: z.undefined().optional(),
})

/** Whether a client id is a document URL: a normalised https URL with a path, but without a user or a fragment. */
export function isDocumentUrl(id: string): boolean {
  if (id.length > 2_000 || !id.startsWith('https://') || id.includes('#') || !URL.canParse(id)) return false
  const url = new URL(id)
  // The comparison with `href` also rejects URLs with dot segments, capitals in the host or unusual escapes.
  return url.href === id && url.pathname !== '/' && url.username === '' && url.password === ''
}

/**
 * Returns the metadata that the grid uses. A copy is fresh for `freshMs`. All clients with a document are public. Fails
 * with `invalid_client` and a message for the document's author.
 */
export function parseClientDocument(url: string, { status, text, header }: SafeResponse) {
  if (status !== 200) throw unusable('the response status is not 200')
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(header('content-type') ?? '')) {
    throw unusable('it is not JSON')
  }
  const result = check(metadata, parseJson(text))
  if (!result.success) throw unusable(`its ${result.error.issues[0].path.join('.') || 'content'} is invalid`)
  const { client_id, client_name, redirect_uris, token_endpoint_auth_method: one, ...rest } = result.data
  if (client_id !== url) throw unusable('its client_id is not its URL')
  // The default is `none`, because a document is public and its client has no secret.
  const methods = [...(one === undefined ? [] : [one]), ...rest.token_endpoint_auth_methods_supported ?? []]
  if (methods.length > 0 && !methods.includes('none')) {
    throw unusable('it does not support the authentication method none')
  }
  return {
    name: cleanName(client_name),
    redirectUris: redirect_uris.slice(0, maxRedirectUris),
    freshMs: freshnessMs(header('cache-control')),
  }
}

function parseJson(text: string): unknown {
  try {
    return parseAnswer(text, { maxBytes: documentLimits.maxBytes, maxDepth: 8, maxTokens: 2_000 }).value
  } catch {
    throw unusable('it is not JSON')
  }
}

/** Returns how long a document is fresh. @see RFC 9111 §5.2.2 */
function freshnessMs(cacheControl: string | undefined): number {
  const directives = (cacheControl ?? '').toLowerCase()
  if (/\bno-(store|cache)\b/.test(directives)) return 0
  const maxAge = directives.match(/\bmax-age\s*=\s*"?(\d{1,9})/)
  return maxAge ? Math.min(Number(maxAge[1]) * 1_000, maxFreshMs) : defaultFreshMs
}

function unusable(reason: string): GridError {
  return new GridError('invalid_client', `The metadata document of this client cannot be used: ${reason}.`)
}

/** The document of a widely used client, fetched as a test. */
const probedDocument = 'https://claude.ai/oauth/claude-code-client-metadata'

/** The delay before the first check, so that a process that fails to start exits without sending the request. */
const firstCheckMs = second

/**
 * With `OAUTH_CIMD=auto`, checks in the background whether documents can be fetched: shortly after the start, then
 * every hour. The grid advertises support for documents if the last check succeeded.
 */
export function documentProbe({ config: { oauthCimd }, log, safeFetch, stopping }: Deps) {
  let isFetchable: boolean | undefined

  /** Fetches the probed document and stores whether the fetch succeeded. Never fails. */
  async function check(): Promise<void> {
    const before = isFetchable
    try {
      parseClientDocument(probedDocument, await safeFetch(probedDocument, { ...documentLimits, isProbe: true }))
      isFetchable = true
    } catch {
      isFetchable = false
    }
    // Log only changes. Otherwise a grid without internet access would log every check.
    if (isFetchable !== before) {
      log.info('Checked whether OAuth client documents can be fetched', { areRead: isFetchable })
    }
  }

  if (oauthCimd === 'auto') {
    const timers = [setTimeout(() => void check(), firstCheckMs), setInterval(() => void check(), hour)]
    for (const timer of timers) timer.unref()
    stopping?.addEventListener('abort', () => timers.forEach((timer) => clearTimeout(timer)), { once: true })
  }
  return {
    /** Whether to advertise client metadata documents. */
    canFetch: () => oauthCimd === 'on' || (oauthCimd === 'auto' && isFetchable === true),
    check,
  }
}

const maxLength = 80

/** Returns the name on a single line of at most 80 characters, without invisible characters. */
export function cleanName(text: string): string {
  return plainName(text, maxLength) || 'Unnamed client'
}
