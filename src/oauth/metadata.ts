/** Metadata of the protected resources (RFC 9728) and of the authorization server (RFC 8414). */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { requestPath } from '../lib/http/request-path.ts'
import type { AppContext, Handler } from '../request-context.ts'

const prefix = '/.well-known/oauth-protected-resource'

/** The paths of the MCP endpoint. Each of them is a resource on each served origin. */
const resourcePaths = ['/mcp/v1/grid', '/api/v1/grid']

/**
 * The metadata documents of the resources. Their URLs come from the configuration, because behind a TLS proxy the
 * request does not contain the URL that the client uses. `issuer` is the authorization server.
 */
export function protectedResources(servedOrigins: string[], issuer: string) {
  /** The edge has already rejected requests to other hosts. */
  function originOf(request: Request): string {
    const host = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
    return servedOrigins.find((origin) => new URL(origin).host === host) ?? servedOrigins[0]
  }

  return {
    /** The URL of the requested resource's metadata: `resource_metadata` in a challenge. @see RFC 9728 §5.1 */
    metadataUrl(request: Request): string {
      return `${originOf(request)}${prefix}${requestPath(request)}`
    },
    /** Serves the document of the resource in the path, or of the first one. Fails with `not_found`. @see RFC 9728 §3 */
    metadata(c: AppContext): Response {
      const path = c.req.path.slice(prefix.length) || resourcePaths[0]
      if (!resourcePaths.includes(path)) throw new GridError('not_found', 'This resource does not exist.')
      return Response.json({
        resource: `${originOf(c.req.raw)}${path}`,
        authorization_servers: [issuer],
        bearer_methods_supported: ['header'],
        resource_name: 'agent-grid',
      })
    },
  }
}

function resourceUrls(servedOrigins: readonly string[]): string[] {
  return servedOrigins.flatMap((origin) => resourcePaths.map((path) => `${origin}${path}`))
}

/**
 * Returns the function that maps a `resource` parameter to our URL. A query, a fragment and a slash at the end say nothing,
 * and an origin alone is its first resource: all our URLs are one audience. Undefined is the first URL. It fails with
 * `invalid_target`. @see RFC 8707 §2
 */
export function resourceReader(servedOrigins: readonly string[]): (requested: string | undefined) => string {
  const urls = resourceUrls(servedOrigins)
  return function resourceOf(requested) {
    if (requested === undefined) return urls[0]
    const url = URL.parse(requested)
    if (url && url.username === '' && url.password === '') {
      const resource = `${url.origin}${url.pathname.replace(/\/$/, '') || resourcePaths[0]}`
      if (urls.includes(resource)) return resource
    }
    throw new GridError('invalid_target', 'resource is not a URL of this grid. Omit it, or use one from the metadata.')
  }
}

const serverPrefix = '/.well-known/oauth-authorization-server'

/** The paths of the document: at the root, and below the paths of the MCP endpoint, where older clients look. */
export const serverMetadataPaths = ['', ...resourcePaths].map((path) => `${serverPrefix}${path}`)

/**
 * Serves the metadata of the authorization server, the same on every host. `canFetchDocuments` says whether to advertise
 * client metadata documents: clients that see them advertised do not register. @see RFC 8414 §2
 */
export function serverMetadata(
  { appUrl: issuer, oauthDcr }: Config,
  servedOrigins: readonly string[],
  canFetchDocuments: () => boolean,
): Handler {
  const authMethods = ['none', 'client_secret_post', 'client_secret_basic']
  return function serverMetadata() {
    return Response.json({
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
      ...(canFetchDocuments() && { client_id_metadata_document_supported: true }),
      protected_resources: resourceUrls(servedOrigins),
    })
  }
}
