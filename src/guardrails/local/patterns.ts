/** Finds what matches regular expressions. */
import { z } from 'zod'
import { text } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const patterns = provider({
  id: 'patterns',
  name: 'Regular expressions',
  kind: 'local',
  description: 'Finds what matches a regular expression, in linear time.',
  config: {
    patterns: z.array(text(500)).min(1).max(50).describe('RE2 expressions: no look-around, no back-references'),
  },
  prepare: () => () => ({ kinds: [] }),
})
