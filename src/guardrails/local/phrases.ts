/** Finds listed words and phrases. */
import { z } from 'zod'
import { text } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const phrases = provider({
  id: 'phrases',
  name: 'Words and phrases',
  kind: 'local',
  description: 'Finds listed words and phrases, and common injection phrases.',
  config: {
    phrases: z.array(text(200)).max(500).default([]).describe('Words and phrases to find, ignoring case'),
    preset: z.enum(['none', 'injection']).default('none').describe(
      'injection: also common phrases of prompt injection',
    ),
  },
  prepare: () => () => ({ kinds: [] }),
})
