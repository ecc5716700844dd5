/** Lakera Guard. */
import { httpUrl, text } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const lakeraGuard = provider({
  id: 'lakera-guard',
  name: 'Lakera Guard',
  kind: 'remote',
  description: 'Asks Lakera Guard for prompt attacks.',
  config: {
    baseUrl: httpUrl.default('https://api.lakera.ai'),
    projectId: text(100).optional(),
  },
  needsToken: true,
  prepare: () => () => ({ kinds: [] }),
})
