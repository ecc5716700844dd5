/** Servers that an account notifies of events. See docs/protocol/webhooks.md. */
import type { Feature } from '../../feature.ts'
import { minute } from '../../lib/time.ts'
import { failingWebhooks, notifyWebhooks } from './conditions.ts'
import { deliverEvents } from './deliver.ts'
import { failingWords, phrases, webhookActions, webhooksSubject } from './pages.tsx'
import { allWebhooks, webhookTables } from './store.ts'

export const webhooks: Feature = {
  name: 'webhooks',
  web: {
    pages: webhookActions,
    accountSubjects: [webhooksSubject],
    conditions: { webhook: failingWords },
    phrases,
  },
  outboxes: { webhook: deliverEvents },
  // Starts only at the stored position, because events have random ids and a repeated batch would record them again.
  followers: (store) => {
    const { recordMessages, recordEvents } = store.feature(allWebhooks)
    return [
      { name: 'webhook messages', statements: (batch) => recordMessages(batch, store.deps.now()) },
      { name: 'webhook events', statements: (batch) => recordEvents(batch, store.deps.now()) },
    ]
  },
  duties: (store) => [{ name: 'conditions of webhooks', everyMs: minute, run: () => notifyWebhooks(store) }],
  hooks: {
    conditions: failingWebhooks,
    services: (account) => account.feature(webhookTables).read.services(),
  },
}
