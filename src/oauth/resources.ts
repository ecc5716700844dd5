/** The URLs of the MCP endpoint as OAuth resources. Together they are the one audience of our tokens (RFC 8707). */
import { GridError } from '../errors.ts'

/** The paths of the MCP endpoint. Each of them is a resource on each served origin. */
export const resourcePaths = ['/mcp/v1/grid', '/api/v1/grid']

/** All URLs of the endpoint on the served origins. */
export function resourceUrls(servedOrigins: readonly string[]): string[] {
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
