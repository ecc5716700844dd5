/** `GET /agent-grid.tgz`: the commands for clients, as a package for npm. See docs/protocol.md, "Package for clients". */
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { once } from '../lib/lazy.ts'
import type { Handler } from '../request-context.ts'

/** Fails with `not_found` on a grid that was not built. */
export function clientPackage({ readClientPackage }: Deps): Handler {
  const read = once(readClientPackage)

  return async function clientPackage() {
    const archive = await read()
    if (!archive) {
      throw new GridError(
        'not_found',
        'This grid runs from its sources, without the package. "npm run build" makes it.',
      )
    }
    return new Response(new Uint8Array(archive), {
      headers: { 'Content-Type': 'application/gzip', 'Cache-Control': 'no-cache' },
    })
  }
}
