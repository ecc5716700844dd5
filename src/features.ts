/** The optional features of this grid. To remove a feature, delete its line. */
import type { Feature } from './feature.ts'
import { archives } from './features/archives/feature.ts'
import { incoming } from './features/incoming/feature.ts'
import { network } from './features/network/feature.ts'
import { notifications } from './features/notifications/feature.ts'
import { singleSignOn } from './features/single-sign-on/feature.ts'
import { slack } from './features/slack/feature.ts'
import { telemetry } from './features/telemetry/feature.ts'
import { webhooks } from './features/webhooks/feature.ts'
import type { OpenTelemetry, Telemetry } from './telemetry.ts'

export const features: readonly Feature[] = [
  archives,
  incoming,
  network,
  notifications,
  singleSignOn,
  slack,
  telemetry,
  webhooks,
]

/** Store hooks of the features, for `openStore`. */
export const coreHooks = features.flatMap(({ hooks }) => hooks ?? [])

/** Web pages of the features, for `createWebApp`. */
export const webFeatures = () => features.flatMap(({ web }) => web ?? [])

/** Settings of the features, for `readConfig`. */
export const featureSettings = features.flatMap(({ settings }) => settings ?? [])

/** Starts the telemetry of the features, for a serving process. */
export const openTelemetry: OpenTelemetry = async (process) =>
  Object.assign({}, ...await Promise.all(features.map(({ telemetry }) => telemetry?.(process)))) as Telemetry
