/** Protected resource metadata (RFC 9728): after a 401, clients read it to find the authorization server. */
import { GridError } from '../errors.ts'
import type { Handler } from '../request-context.ts'
import { resourcePaths } from './resources.ts'

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
