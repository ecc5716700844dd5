/** Protected resource metadata (RFC 9728): after a 401, clients read it to find the authorization server. */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import type { Handler } from '../request-context.ts'

const prefix = '/.well-known/oauth-protected-resource'

/** The URLs of the MCP endpoint as OAuth resources. */
export interface ProtectedResources {
  /** The URL of the requested resource's metadata: `resource_metadata` in a challenge. @see RFC 9728 §5.1 */
  metadataUrl(request: Request): string
  /** Serves the document of the resource in the path; without a path, of the first resource. Fails with `not_found`. @see RFC 9728 §3 */
  metadata: Handler
}

/**
 * The metadata documents of all resource URLs on the served origins. They are built once, from the configuration:
 * `resource` must be the URL that the client uses, and behind a TLS proxy the request does not contain it.
 * `issuer` is the authorization server.
 */
export function protectedResources(servedOrigins: string[], issuer: string): ProtectedResources {
  const origins = new Map(servedOrigins.map((origin) => [new URL(origin).host, origin]))
  const documents = new Map<string, string>()
  for (const origin of origins.values()) {
    for (const path of resourcePaths) {
      const document = {
        resource: `${origin}${path}`,
        authorization_servers: [issuer],
        bearer_methods_supported: ['header'],
        resource_name: 'agent-grid',
      }
      documents.set(document.resource, JSON.stringify(document))
    }
  }
  // The edge has already rejected requests to other hosts.
  const originOf = (request: Request) => origins.get(hostOf(request)) ?? servedOrigins[0]

  return {
    metadataUrl: (request) => `${originOf(request)}${prefix}${new URL(request.url).pathname}`,
    metadata(c) {
      const request = c.req.raw
      const path = new URL(request.url).pathname.slice(prefix.length) || resourcePaths[0]
      const document = documents.get(`${originOf(request)}${path}`)
      if (document === undefined) throw new GridError('not_found', 'This resource does not exist.')
      return new Response(document, { headers: { 'Content-Type': 'application/json' } })
    },
  }
}

function hostOf(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
}

/** The paths of the MCP endpoint. Each of them is a resource on each served origin. */
const resourcePaths = ['/mcp/v1/grid', '/api/v1/grid']

/** All URLs of the endpoint on the served origins. */
function resourceUrls(servedOrigins: readonly string[]): string[] {
  return servedOrigins.flatMap((origin) => resourcePaths.map((path) => `${origin}${path}`))
}

/**
 * Returns the function that maps a `resource` parameter to our URL; undefined maps to the first URL. Scheme and host
 * are case-insensitive, the rest must match exactly. It fails with `invalid_target`. @see RFC 8707 §2
 */
export function resourceReader(servedOrigins: readonly string[]): (requested: string | undefined) => string {
  const urls = resourceUrls(servedOrigins)
  return function resourceOf(requested) {
    if (requested === undefined) return urls[0]
    const normalized = requested.replace(/^https?:\/\/[^/?#]*/i, (origin) => origin.toLowerCase())
    if (urls.includes(normalized)) return normalized
    throw new GridError(
      'invalid_target',
      'resource is not a URL of this grid. Omit it, or use one from the metadata.',
    )
  }
}

const serverPrefix = '/.well-known/oauth-authorization-server'

/** The paths of the document: at the root, and below the paths of the MCP endpoint, where older clients look. */
export const serverMetadataPaths = ['', ...resourcePaths].map((path) => `${serverPrefix}${path}`)

/**
 * Serves the document, which is the same on every host and depends on the configuration only. `canFetchDocuments` says
 * whether to advertise client metadata documents: clients that see them advertised do not register.
 */
export function serverMetadata(
  config: Config,
  servedOrigins: readonly string[],
  canFetchDocuments: () => boolean,
): Handler {
  const [withoutDocuments, withDocuments] = [false, true].map((canFetch) =>
    JSON.stringify(serverDocument(config, servedOrigins, canFetch))
  )

  return function serverMetadata() {
    const document = canFetchDocuments() ? withDocuments : withoutDocuments
    return new Response(document, { headers: { 'Content-Type': 'application/json' } })
  }
}

function serverDocument(
  { appUrl: issuer, oauthDcr }: Config,
  servedOrigins: readonly string[],
  canFetchDocuments: boolean,
) {
  const authMethods = ['none', 'client_secret_post', 'client_secret_basic']
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    ...(oauthDcr === 'on' && { registration_endpoint: `${issuer}/oauth/register` }),
    revocation_endpoint: `${issuer}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    scopes_supported: ['agent:use', 'admin', 'offline_access'],
    authorization_response_iss_parameter_supported: true,
    ...(canFetchDocuments && { client_id_metadata_document_supported: true }),
    protected_resources: resourceUrls(servedOrigins),
  }
}
