/** The optional features of this grid. Without its line, a grid does without the feature. */
import type { Feature } from './feature.ts'
import { singleSignOn } from './features/single-sign-on/feature.ts'
import { slack } from './features/slack/feature.ts'
import { webhooks } from './features/webhooks/feature.ts'

export const features: readonly Feature[] = [
  singleSignOn,
  slack,
  webhooks,
]

/** For `openStore`. */
export const coreHooks = features.flatMap(({ hooks }) => hooks ?? [])
