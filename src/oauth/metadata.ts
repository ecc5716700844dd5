/** Protected resource metadata (RFC 9728). */
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'

/** The paths of the MCP endpoint; each is a resource of its own on each host. */
const resourcePaths = ['/mcp/v1/grid', '/api/v1/grid']

const prefix = '/.well-known/oauth-protected-resource'

/**
 * The document of the resource named by host and path; without a path, of the first.
 * Fails with `not_found`. @see RFC 9728 §3.1
 */
export function resourceMetadata({ config }: Deps, request: Request): Response {
  const url = new URL(request.url)
  const path = url.pathname.slice(prefix.length).replace(/\/$/, '') || resourcePaths[0]
  if (!resourcePaths.includes(path)) throw new GridError('not_found', 'There is no such resource.')
  return Response.json({
    resource: `${publicOrigin(config, url)}${path}`,
    bearer_methods_supported: ['header'],
    resource_name: 'agent-grid',
  }, { headers: { 'Access-Control-Allow-Origin': '*' } })
}

/** The configured origin that answers this request's host: behind a TLS proxy the scheme differs. */
function publicOrigin(config: Config, url: URL): string {
  return [config.baseUrl, config.appUrl].find((origin) => new URL(origin).host === url.host) ?? url.origin
}
