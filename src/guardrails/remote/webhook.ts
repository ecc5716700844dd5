/** Your own service. */
import { httpUrl } from '../config-fields.ts'
import { provider } from '../provider.ts'

export const webhook = provider({
  id: 'webhook',
  name: 'Webhook',
  kind: 'remote',
  description: 'Asks your own service. Requests are signed according to Standard Webhooks.',
  config: {
    url: httpUrl,
  },
  needsToken: true,
  prepare: () => () => ({ kinds: [] }),
})
