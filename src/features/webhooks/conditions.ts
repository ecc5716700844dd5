/** Notifies webhooks once of conditions that need a person. See docs/protocol/webhooks.md. */
import { GridError } from '../../errors.ts'
import { type Condition, findConditions, isNotified, isWorse, manyFailures } from '../../grid/attention/attention.ts'
import { newId } from '../../lib/id.ts'
import type { AccountStore, FeatureCondition } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { allWebhooks, type FailingWebhook, type WebhookEvent, webhookTables } from './store.ts'

/** Returns webhooks whose servers fail, for Attention. */
export async function failingWebhooks(account: AccountStore): Promise<FeatureCondition<FailingWebhook>[]> {
  const found = await account.feature(webhookTables).read.failing(manyFailures)
  return found.map((of) => ({ kind: 'webhook', subject: of.id, since: of.pausedAt ?? of.failingSince, level: 1, of }))
}

/** Checks the accounts that `withConditions` returns. Several processes may do this concurrently. */
export async function notifyWebhooks(store: Store): Promise<void> {
  for (const id of await store.feature(allWebhooks).withConditions()) {
    const account = store.account(id, { type: 'system', job: 'webhooks' })
    await notifyOfConditions(account, store.backups.failed?.at).catch((error) => {
      // Another process has recorded the events, or the webhook was deleted.
      if (error instanceof GridError && error.code === 'write_conflict') return
      store.deps.log.warn('Webhooks were not notified of what needs a person', { error, account: id })
    })
  }
}

/**
 * Records an event for each Attention condition that is new to a webhook or has become much worse, and for a failed
 * backup of the grid. If several processes do this, one succeeds, and the others fail with `write_conflict`.
 */
async function notifyOfConditions(account: AccountStore, backupFailedAt: number | undefined): Promise<void> {
  const { deps: { now }, write } = account
  const { read, change: webhooks } = account.feature(webhookTables)
  const found = (await findConditions(account)).filter((condition) => isNotified(condition, now()))
  for (const { id, events, notified } of await read.withConditions()) {
    const known: Record<string, number> = JSON.parse(notified)
    const [levels, news]: [typeof known, WebhookEvent[]] = [{}, []]
    for (const condition of JSON.parse(events).includes('attention') ? found : []) {
      const key = `${condition.kind} ${condition.subject}`
      const before = known[key]
      const isNew = before === undefined || isWorse(condition, before)
      levels[key] = isNew ? condition.level : before
      if (isNew) news.push({ id: newId(), type: 'attention', data: dataOf(condition) })
    }
    if (backupFailedAt !== undefined && JSON.parse(events).includes('backup')) {
      levels.backup = backupFailedAt
      if (known.backup !== backupFailedAt) {
        news.push({ id: newId(), type: 'backup', data: { failed_at: backupFailedAt } })
      }
    }
    const after = JSON.stringify(levels)
    if (after !== notified) await write(webhooks.notifyOfConditions(id, { before: notified, after }, news, now()))
  }
}

/** The event's data. Contains ids and aliases, but no texts. */
function dataOf({ kind, subject, since, level, of }: Condition) {
  return { kind, subject, agents: aliasesOf(of).map((alias) => `@${alias}`), since, level }
}

function aliasesOf(of: Condition['of']): string[] {
  if ('agents' in of) return Array.isArray(of.agents) ? of.agents : []
  if ('client' in of) return [of.client, of.recipient]
  return 'alias' in of && of.alias !== null ? [of.alias] : []
}
