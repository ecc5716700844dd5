/** Presidio. */
import { z } from 'zod'
import { httpUrl, threshold } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const presidio = provider({
  id: 'presidio',
  name: 'Presidio',
  kind: 'remote',
  description: 'Asks a self-hosted Presidio analyzer for personal data.',
  config: {
    analyzerUrl: httpUrl,
    language: z.string().min(2).max(10).default('en'),
    threshold: threshold.default(0.5),
  },
  prepare: () => () => ({ kinds: [] }),
})
