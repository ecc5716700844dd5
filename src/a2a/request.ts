/**
 * Reads the caller, version and extensions of a request, in both A2A bindings, before its body. See
 * docs/protocol/a2a.md, "Errors".
 */
import type { A2aVersion } from './codec.ts'
import { extensionUris } from './extensions.ts'
import type { MethodCall } from './method-call.ts'
import type { AuthenticateCall, AuthenticatedCall } from '../auth/bearer.ts'
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { apiLimits, type BodyLimits, checkDeclaredLength, taskLimits } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import type { AppContext } from '../request-context.ts'

export const mediaTypes = ['application/json', 'application/a2a+json']

export function wrongMediaType(): GridError {
  return new GridError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.')
}

/** A call's context before its body is read. */
export type AdmittedCall =
  & Omit<MethodCall, 'account' | 'cards' | 'codec' | 'method' | 'params'>
  & Pick<AuthenticatedCall, 'caller' | 'serve'>

/** Returns the body size limits. An agent's endpoint allows more, because it accepts files. */
export function limitsOf(aliases: readonly string[]): BodyLimits {
  return aliases.length > 0 ? taskLimits : apiLimits
}

/**
 * Authenticates the caller and reads the headers. `aliases` are those in the path. Fails with `payload_too_large` (by
 * the declared length), `unauthenticated` or `rate_limit_exceeded`, in this order.
 */
export async function admit(
  authenticateCall: AuthenticateCall,
  config: Config,
  c: AppContext,
  aliases: readonly string[],
): Promise<AdmittedCall> {
  const request = c.req.raw
  checkDeclaredLength(request, limitsOf(aliases))
  const { caller, serve, check } = await authenticateAgent(authenticateCall, c)
  const { headers } = request
  return {
    caller,
    serve,
    aliases,
    extensions: activatedExtensions(request, extensionUris(config)),
    idempotencyKey: headers.get('Idempotency-Key') ?? undefined,
    waitSeconds: wholeNumber(headers.get('Prefer')?.match(/(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i)?.[1]),
    lastEventId: wholeNumber(headers.get('Last-Event-ID')?.match(/^\d{1,15}$/)?.[0]),
    connection: new CallerConnection(request, c.env),
    check,
  }
}

function wholeNumber(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits)
}

/** Returns the calling agent. Fails with `unauthenticated`, including for an admin, or with `rate_limit_exceeded`. */
export async function authenticateAgent(authenticateCall: AuthenticateCall, c: AppContext): Promise<AuthenticatedCall> {
  const authenticated = await authenticateCall(c)
  if (authenticated.actor.type === 'agent') return authenticated
  throw new GridError('unauthenticated', 'Admin keys are not accepted here. Use the key of an agent.', {
    credential: 'refused',
  })
}

/** Returns the challenge of a 401. It contains an error only if the request had a credential. @see RFC 6750 §3 */
export function challenge({ details: { credential } }: GridError): Record<string, string> {
  if (credential === undefined) return {}
  const error = credential === 'refused' ? ', error="invalid_token"' : ''
  return { 'WWW-Authenticate': `Bearer realm="agent-grid"${error}` }
}

/**
 * Returns the version in the `A2A-Version` header or query parameter, without its patch number. Undefined if both are
 * missing. The wire format depends on the method, not on this version. Fails with `version_not_supported`.
 */
export function requestedVersion(request: Request): A2aVersion | undefined {
  const text = versionText(request)
  const version = supportedVersion(text)
  if (text === '' || version) return version
  throw new GridError('version_not_supported', 'This A2A-Version is not supported. Use 1.0 or 0.3.', {
    info: { supported: '0.3,1.0' },
  })
}

export function requestsVersion10(request: Request): boolean {
  return supportedVersion(versionText(request)) === '1.0'
}

function activatedExtensions(request: Request, known: readonly string[]): string[] {
  const { headers } = request
  const named = `${headers.get('A2A-Extensions') ?? ''},${headers.get('X-A2A-Extensions') ?? ''}`
  const uris = named.split(',').map((uri) => uri.trim())
  return known.filter((uri) => uris.includes(uri))
}

function versionText({ headers, url }: Request): string {
  const query = () => url.includes('?') ? new URL(url).searchParams.get('A2A-Version') ?? '' : ''
  return (headers.get('A2A-Version') || query()).trim()
}

function supportedVersion(text: string): A2aVersion | undefined {
  return text.match(/^(0\.3|1\.0)(\.\d+)?$/)?.[1] as A2aVersion | undefined
}
