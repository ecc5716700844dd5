/** Finds long messages. */
import { z } from 'zod'
import { provider } from '../provider.ts'

export const length = provider({
  id: 'length',
  name: 'Length',
  kind: 'local',
  description: 'Finds messages that are longer than allowed.',
  config: {
    maxCharacters: z.int().min(1).max(10_000).describe('Longest allowed message, in characters'),
  },
  prepare: () => () => ({ kinds: [] }),
})
