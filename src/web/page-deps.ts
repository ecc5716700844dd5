import type { Context } from 'hono'
import type { Sessions } from '../auth/session.ts'
import type { AppEnv } from '../request-context.ts'
import type { Store } from '../store/store.ts'
import type { AttentionCounts } from './attention/counts.ts'

/** What the pages of the web application depend on. */
export interface PageDeps {
  store: Store
  sessions: Sessions
  /** The number beside the navigation. */
  attention: AttentionCounts
  /** The IP address of the client, by which limits count. */
  address(c: Context<AppEnv>): string
}
