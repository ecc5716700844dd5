/** Metadata of the protected resources (RFC 9728) and of the authorization server (RFC 8414). */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { requestPath } from '../lib/http/request-path.ts'
import type { AppContext, Handler } from '../request-context.ts'

const prefix = '/.well-known/oauth-protected-resource'

/** The paths of the MCP endpoint. On each served origin, each path is a resource. */
const resourcePaths = ['/mcp/v1/grid', '/api/v1/grid']

/** Returns the grid's origin that the request was sent to. */
type OriginOf = (request: Request) => string

/**
 * The resources' metadata documents. Each origin is its own authorization server, because a client may know the grid by
 * only one of its origins.
 */
export function protectedResources(originOf: OriginOf) {
  return {
    /** Returns the URL of the requested resource's metadata: `resource_metadata` in a challenge. @see RFC 9728 §5.1 */
    metadataUrl(request: Request): string {
      return `${originOf(request)}${prefix}${requestPath(request)}`
    },
    /**
     * Serves the document of the resource in the path, or of the first resource. Fails with `not_found`. @see RFC 9728
     * §3
     */
    metadata(c: AppContext): Response {
      const path = c.req.path.slice(prefix.length) || resourcePaths[0]
      if (!resourcePaths.includes(path)) throw new GridError('not_found', 'This resource does not exist.')
      const origin = originOf(c.req.raw)
      return Response.json({
        resource: `${origin}${path}`,
        authorization_servers: [origin],
        bearer_methods_supported: ['header'],
        resource_name: 'agent-grid',
      })
    },
  }
}

function resourceUrls(origins: readonly string[]): string[] {
  return origins.flatMap((origin) => resourcePaths.map((path) => `${origin}${path}`))
}

/**
 * Returns a function that maps a `resource` parameter to one of the grid's URLs, which are all one audience. It ignores
 * query, fragment and trailing slash, maps a bare origin to its first resource, and undefined to the first URL. It
 * fails with `invalid_target`. @see RFC 8707 §2
 */
export function resourceReader(origins: readonly string[]): (requested: string | undefined) => string {
  const urls = resourceUrls(origins)
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

/** The document's paths: at the root, and below the MCP endpoint's paths, where older clients expect it. */
export const serverMetadataPaths = ['', ...resourcePaths].map((path) => `${serverPrefix}${path}`)

/**
 * Returns the consent page's path on `APP_URL`. For any other issuer, the path contains the issuer's host. The host
 * cannot be in a query, because many clients append `?` to the address.
 */
export function authorizePath(issuer: string, { appUrl }: Pick<Config, 'appUrl'>): string {
  return issuer === appUrl ? '/oauth/authorize' : `/oauth/authorize/${encodeURIComponent(new URL(issuer).host)}`
}

/** Returns the issuer whose host is in the consent page's path. Fails with `not_found`. */
export function issuerAt(host: string | undefined, origins: readonly string[], { appUrl }: Config): string {
  const issuer = host === undefined ? appUrl : origins.find((origin) => new URL(origin).host === host)
  if (issuer === undefined) throw new GridError('not_found', 'This address is not a host of the grid.')
  return issuer
}

/**
 * Serves the authorization server's metadata, with the requested origin as issuer. If `canFetchDocuments` returns true,
 * it advertises client metadata documents, and clients that support them do not register. @see RFC 8414 §2, §3.3
 */
export function serverMetadata(config: Config, originOf: OriginOf, canFetchDocuments: () => boolean): Handler {
  const authMethods = ['none', 'client_secret_post', 'client_secret_basic']
  return function serverMetadata(c) {
    const issuer = originOf(c.req.raw)
    return Response.json({
      issuer,
      authorization_endpoint: `${config.appUrl}${authorizePath(issuer, config)}`,
      token_endpoint: `${issuer}/oauth/token`,
      ...(config.oauthDcr === 'on' && { registration_endpoint: `${issuer}/oauth/register` }),
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
      protected_resources: resourceUrls([issuer]),
    })
  }
}
