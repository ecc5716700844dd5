import type { Deps } from '../deps.ts'
import type { Bearer } from '../auth/bearer.ts'
import { GridError } from '../errors.ts'

export function a2aGrid(_authenticate: Bearer, _deps: Deps): (request: Request) => Promise<Response> {
  return () => Promise.reject(new GridError('not_found', 'unfinished'))
}
