/**
 * What an optional feature registers. Its slots:
 *
 * * `routes`: paths beside those of the doors, with their own credentials;
 * * `web`: pages of accounts, cards on pages of the core, notices, and sentences of the activity log;
 * * `transport`: what carries messages to remote agents of its own, instead of A2A;
 * * `units`: statements that it adds to units of the core.
 *
 * See docs/architecture.md, "Optional features".
 */
import type { Transport } from './grid/remote-agents/attempt.ts'
import type { Route } from './request-context.ts'
import type { UnitHooks } from './store/account.ts'
import type { Store } from './store/store.ts'
import type { WebFeature } from './web/visit.ts'

export interface Feature {
  /** The name of its folder. */
  readonly name: string
  readonly routes?: (store: Store) => Route[]
  readonly web?: WebFeature
  readonly transport?: Transport
  readonly units?: UnitHooks
}
