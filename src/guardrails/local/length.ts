/** Finds long messages. */
import * as z from 'zod'
import { hasAtMost } from '../../lib/text.ts'
import { provider } from '../provider.ts'

export const length = provider({
  id: 'length',
  name: 'Length',
  kind: 'local',
  description: 'Finds messages that are longer than allowed.',
  config: {
    maxCharacters: z.int().min(1).max(10_000).describe('Maximum message length in characters'),
  },
  prepare: ({ maxCharacters }) => ({ text }) =>
    hasAtMost(text, maxCharacters) ? { kinds: [] } : {
      kinds: ['message that is too long'],
      spans: [{ start: unitsOf(text, maxCharacters), end: text.length }],
    },
})

function unitsOf(text: string, characters: number): number {
  let units = 0
  for (let left = characters; left > 0; left--) units += text.codePointAt(units)! > 0xffff ? 2 : 1
  return units
}
