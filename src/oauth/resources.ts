/** The MCP endpoint's addresses as OAuth resources: the one audience of our tokens (RFC 8707). */
import { GridError } from '../errors.ts'

/** The paths of the MCP endpoint; each is a resource of its own on each served origin. */
export const resourcePaths = ['/mcp/v1/grid', '/api/v1/grid']

/** Every URL of the endpoint on the origins served. */
export function resourceUrls(servedOrigins: readonly string[]): string[] {
  return servedOrigins.flatMap((origin) => resourcePaths.map((path) => `${origin}${path}`))
}

/**
 * The URL of ours that a client means: scheme and host compare without case, the rest to the letter. Undefined means
 * the first. Fails with `invalid_target`. @see RFC 8707 §2
 */
export function resourceReader(servedOrigins: readonly string[]): (asked: string | undefined) => string {
  const urls = resourceUrls(servedOrigins)
  return function resourceOf(asked) {
    if (asked === undefined) return urls[0]
    const spelled = asked.replace(/^https?:\/\/[^/?#]*/i, (origin) => origin.toLowerCase())
    if (urls.includes(spelled)) return spelled
    throw new GridError(
      'invalid_target',
      'resource is not an address of this grid. Leave it out, or take one from the metadata.',
    )
  }
}
