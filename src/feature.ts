/**
 * The parts that an optional feature can register:
 *
 * * `settings`: its settings, which it reads with `settingsOf`
 * * `telemetry`: metrics and trace export for the process
 * * `probes`: routes that are served for any Host, even by an overloaded process
 * * `port`: an additional port and its handler
 * * `routes`: paths outside the doors, which authenticate their callers themselves
 * * `web`: pages, settings tabs, account setting subjects, cards on core pages, sign-in methods, a script, notices,
 *   activity log sentences, and labels for the items that it reports to Attention
 * * `transport`: carries messages to its own kind of remote agents, instead of A2A
 * * `outboxes`: functions that make the requests of its own kinds of outboxes
 * * `followers`: statements to run for new messages or other log rows
 * * `news`: statements for messages that may concern people who are not their recipients
 * * `duties`: scheduled work; `stopping` is aborted when the process shuts down
 * * `commands`: CLI commands in a folder `commands/`; `serverCommands`: the commands that these send to a running
 *   server
 * * `hooks`: statements added to core units, the issuers that vouch for addresses, and items that need a person
 *
 * See docs/architecture.md, "Optional features".
 */
import type { Command, StoreCommand } from './cli/command.ts'
import type { Config, FeatureSettings } from './config.ts'
import type { OutboxAttempt, Transport } from './grid/outboxes/attempt.ts'
import type { CallLimit } from './lib/limits/call-limits.ts'
import type { Route } from './request-context.ts'
import type { CoreHooks } from './store/account.ts'
import type { PossibleNews } from './store/global/news.ts'
import type { OutboxKind } from './store/global/outboxes.ts'
import type { StoredFollower } from './store/global/pulse.ts'
import type { Batch, Duty } from './store/loop.ts'
import type { Statement } from './store/sql.ts'
import type { Store } from './store/store.ts'
import type { OpenTelemetry } from './telemetry.ts'
import type { WebFeature } from './web/visit.ts'

export interface Feature {
  /** The name of the feature's folder. */
  readonly name: string
  readonly settings?: FeatureSettings
  readonly telemetry?: OpenTelemetry
  readonly probes?: (store: Store) => Route[]
  readonly port?: FeaturePort
  /** `refusedKeys` counts unknown credentials by client address. */
  readonly routes?: (store: Store, refusedKeys: CallLimit) => Route[]
  readonly web?: WebFeature
  readonly transport?: Transport
  readonly outboxes?: Partial<Record<OutboxKind, OutboxAttempt>>
  readonly followers?: (store: Store) => FeatureFollower[]
  readonly news?: (store: Store, messages: readonly PossibleNews[], batch: { after: number; at: number }) => Statement[]
  readonly duties?: (store: Store, stopping: AbortSignal) => Duty[]
  readonly commands?: readonly Command[]
  readonly serverCommands?: readonly StoreCommand[]
  readonly hooks?: CoreHooks
}

interface FeatureFollower {
  name: StoredFollower
  statements: (batch: Batch) => Statement[]
  /** Whether the follower reads messages only after they have been placed in conversations. */
  isPlaced?: boolean
  gatherMs?: number
}

export interface FeaturePort {
  /** The environment variable that sets the port. */
  readonly setting: string
  /** The port. Undefined if it is not set. */
  readonly number: (config: Config) => number | undefined
  readonly serve: (store: Store) => ((request: Request) => Promise<Response>) | undefined
}
