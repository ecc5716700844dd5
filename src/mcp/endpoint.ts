import type { Deps } from '../deps.ts'
import type { Bearer } from '../auth/bearer.ts'
import type { Store } from '../store/store.ts'
import { GridError } from '../errors.ts'

export function mcpGrid(_authenticate: Bearer, _deps: Deps): (request: Request) => Promise<Response> {
  return () => Promise.reject(new GridError('not_found', 'unfinished'))
}
export function mcpSignup(_store: Store, _request: Request, _address: string): Promise<Response> {
  return Promise.reject(new GridError('not_found', 'unfinished'))
}
