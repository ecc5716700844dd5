/** Protected resource metadata (RFC 9728): what a client reads after a 401 to learn how to sign in. */
import { GridError } from '../errors.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'
import { resourcePaths } from './resources.ts'

const prefix = '/.well-known/oauth-protected-resource'

/** The MCP endpoint's addresses as OAuth resources. */
export interface ProtectedResources {
  /** Where the metadata of the requested resource is: the `resource_metadata` of a challenge. @see RFC 9728 §5.1 */
  metadataUrl(request: Request): string
  /** The document that a metadata address names; without a path, of the first. Fails with `not_found`. @see RFC 9728 §3 */
  metadata(request: Request): Response
}

/**
 * Every URL of the endpoint on the origins served, each with its document. Both are made once, from
 * configuration: `resource` must be the URL the client was given, and behind a TLS proxy the request
 * does not know it. `issuer` is where one signs in.
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
  // The edge has refused every other host.
  const originOf = (request: Request) => origins.get(hostOf(request)) ?? servedOrigins[0]

  return {
    metadataUrl: (request) => `${originOf(request)}${prefix}${new URL(request.url).pathname}`,
    metadata(request) {
      if (request.method === 'OPTIONS') return preflight('GET, OPTIONS')
      const path = new URL(request.url).pathname.slice(prefix.length) || resourcePaths[0]
      const document = documents.get(`${originOf(request)}${path}`)
      if (document === undefined) throw new GridError('not_found', 'There is no such resource.')
      return new Response(document, { headers: { 'Content-Type': 'application/json', ...corsHeaders } })
    },
  }
}

function hostOf(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
}
