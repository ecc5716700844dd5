/**
 * What an optional feature registers. Its slots:
 *
 * * `settings`: what it adds to the configuration, which it reads with `settingsOf`;
 * * `telemetry`: what measures a process, and sends traces;
 * * `probes`: routes that are answered whatever the Host, also by a process that is overloaded;
 * * `port`: what answers at another port;
 * * `routes`: paths outside of the doors, which authenticate their callers themselves;
 * * `web`: pages, tabs of the settings, subjects of the account settings, cards on pages of the core, ways to sign in, a
 *   script, notices, sentences of the activity log, and the words of what it reports to Attention;
 * * `transport`: what carries messages to remote agents of its own, instead of A2A;
 * * `outboxes`: the requests of outboxes of its own kinds;
 * * `followers`: what it writes for new messages, or for other rows of the log;
 * * `news`: statements for messages that may be news to people who are not their recipients;
 * * `duties`: what it does at times; `stopping` is raised when the process stops;
 * * `commands`: for people, in a folder `commands/`, and `serverCommands`: what these ask of a running server;
 * * `hooks`: statements of units of the core, the issuers that vouch for addresses, and what needs a person.
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
  /** The name of its folder. */
  readonly name: string
  readonly settings?: FeatureSettings
  readonly telemetry?: OpenTelemetry
  readonly probes?: (store: Store) => Route[]
  readonly port?: FeaturePort
  /** `refusedKeys` counts, by client address, credentials that are unknown. */
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
  /** It reads messages when they have their places in conversations. */
  isPlaced?: boolean
  gatherMs?: number
}

export interface FeaturePort {
  /** The variable that sets it. */
  readonly setting: string
  /** Undefined if it is not set. */
  readonly number: (config: Config) => number | undefined
  readonly serve: (store: Store) => ((request: Request) => Promise<Response>) | undefined
}
