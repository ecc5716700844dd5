/** Tells webhooks what needs a person. See docs/protocol/webhooks.md. */
import { GridError } from '../errors.ts'
import { notifyOfConditions } from '../grid/webhooks/notify-of-conditions.ts'
import type { Store } from '../store/store.ts'

/** Look at each account whose webhooks are told of it. Several processes may do this at the same time. */
export async function notifyWebhooks(store: Store): Promise<void> {
  for (const accountId of await store.global.webhooks.withConditions()) {
    const account = store.account(accountId, { type: 'system', job: 'webhooks' })
    await notifyOfConditions(account, store.backups.failed?.at).catch((error) => {
      // Another process told of them, or the webhook is gone.
      if (error instanceof GridError && error.code === 'write_conflict') return
      store.deps.log.warn('Webhooks were not told what needs a person', { error, account: accountId })
    })
  }
}
