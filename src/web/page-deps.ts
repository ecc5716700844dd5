import type { Sessions } from '../auth/session.ts'
import type { Store } from '../store/store.ts'
import type { AttentionCounts } from './attention/counts.ts'

/** What the pages of the web application depend on. */
export interface PageDeps {
  store: Store
  sessions: Sessions
  /** The number beside the navigation. */
  attention: AttentionCounts
}
