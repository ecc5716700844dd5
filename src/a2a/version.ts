/** Which version a client asks for, and which extensions it activates. a2a.md, sections 1 and 4. */
import { GridError } from '../errors.ts'
import type { Version } from './codec.ts'

/**
 * The version of the `A2A-Version` header, or else of the query; undefined when neither
 * says one. Patch numbers do not matter. The method decides the wire, so this only validates.
 * Fails with `version_not_supported`.
 */
export function requestedVersion(request: Request): Version | undefined {
  const asked = askedFor(request)
  const version = spoken(asked)
  if (asked === '' || version) return version
  throw new GridError('version_not_supported', 'This A2A-Version is not spoken here. Use 1.0 or 0.3.', {
    info: { supported: '0.3,1.0' },
  })
}

/** For what is answered to every version: whether the client asks for the newer form. */
export function asksForVersion10(request: Request): boolean {
  return spoken(askedFor(request)) === '1.0'
}

/** Those of `known` extensions that the request activates, by either version's header. */
export function activatedExtensions(request: Request, known: readonly string[]): string[] {
  const { headers } = request
  const named = `${headers.get('A2A-Extensions') ?? ''},${headers.get('X-A2A-Extensions') ?? ''}`
  const uris = named.split(',').map((uri) => uri.trim())
  return known.filter((uri) => uris.includes(uri))
}

function askedFor({ headers, url }: Request): string {
  const query = () => url.includes('?') ? new URL(url).searchParams.get('A2A-Version') ?? '' : ''
  return (headers.get('A2A-Version') || query()).trim()
}

function spoken(version: string): Version | undefined {
  return version.match(/^(0\.3|1\.0)(\.\d+)?$/)?.[1] as Version | undefined
}
