/** Finds personal data and keys. */
import { z } from 'zod'
import { provider } from '../provider.ts'

export const pii = provider({
  id: 'pii',
  name: 'Personal data',
  kind: 'local',
  description: 'Finds email addresses, phone numbers, credit cards, IBANs, national ids and API keys.',
  config: {
    kinds: z.array(z.enum(['email', 'phone', 'card', 'iban', 'national_id', 'api_key'])).min(1)
      .default(['email', 'phone', 'card', 'iban', 'national_id', 'api_key']).describe('What to look for'),
  },
  prepare: () => () => ({ kinds: [] }),
})
