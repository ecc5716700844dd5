/** Clients known by the address of their own document (OAuth Client ID Metadata Document, draft 00). */
import { z } from 'zod'
import { GridError } from '../errors.ts'
import { parseBody } from '../lib/body.ts'
import type { SafeAnswer } from '../lib/safe-fetch.ts'
import { cleanName } from './client-name.ts'

/** What is taken from a document; all its clients are public. */
export interface DocumentFacts {
  name: string
  redirectUris: string[]
  /** How long it may be used without asking again. */
  freshMs: number
}

/** Security 8. */
export const documentLimits = { maxBytes: 64 * 1024, timeoutMs: 5_000 } as const

const maxFreshMs = 24 * 3_600_000
/** For documents that say nothing about it. */
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

/** An https address with a path, in its one spelling, without user and fragment. */
export function isDocumentUrl(id: string): boolean {
  if (id.length > 2_000 || !id.startsWith('https://') || id.includes('#') || !URL.canParse(id)) return false
  const url = new URL(id)
  // Dot segments, capitals and escapes have another spelling.
  return url.href === id && url.pathname !== '/' && url.username === '' && url.password === ''
}

/** Read a document. Fails with `invalid_client`, in words for whoever wrote it. */
export function readDocument(url: string, { status, text, header }: SafeAnswer): DocumentFacts {
  if (status !== 200) throw unusable('it was not answered with 200')
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(header('content-type') ?? '')) {
    throw unusable('it is no JSON')
  }
  const result = metadata.safeParse(parsed(text))
  if (!result.success) throw unusable(`its ${result.error.issues[0].path.join('.') || 'content'} is not right`)
  const { client_id, client_name, redirect_uris, ...methods } = result.data
  if (client_id !== url) throw unusable('its client_id is not its address')
  if (!isPublic(methods)) throw unusable('it names no method that we take: none')
  return {
    name: cleanName(client_name),
    redirectUris: redirect_uris.slice(0, maxRedirectUris),
    freshMs: freshness(header('cache-control')),
  }
}

function parsed(text: string): unknown {
  try {
    return parseBody(text, { maxBytes: documentLimits.maxBytes, maxDepth: 8, maxTokens: 2_000 })
  } catch {
    throw unusable('it is no JSON')
  }
}

/** Whoever names no method has none: a document is public, so it holds no secret. */
function isPublic(
  { token_endpoint_auth_method: one, token_endpoint_auth_methods_supported: more = [] }: Pick<
    z.infer<typeof metadata>,
    'token_endpoint_auth_method' | 'token_endpoint_auth_methods_supported'
  >,
): boolean {
  const methods = one === undefined ? more : [one, ...more]
  return methods.length === 0 || methods.includes('none')
}

/** @see RFC 9111 §5.2.2 */
function freshness(cacheControl: string | undefined): number {
  const said = (cacheControl ?? '').toLowerCase()
  if (/\bno-(store|cache)\b/.test(said)) return 0
  const maxAge = said.match(/\bmax-age\s*=\s*"?(\d{1,9})/)
  return maxAge ? Math.min(Number(maxAge[1]) * 1_000, maxFreshMs) : defaultFreshMs
}

function unusable(why: string): GridError {
  return new GridError('invalid_client', `The document of this client cannot be used: ${why}.`)
}
