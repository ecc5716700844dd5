/** The optional features of this grid. Without its line, a grid does without the feature. */
import type { Feature } from './feature.ts'
import { slack } from './features/slack/feature.ts'

export const features: readonly Feature[] = [
  slack,
]

/** For `openStore`. */
export const unitHooks = features.flatMap(({ units }) => units ?? [])
