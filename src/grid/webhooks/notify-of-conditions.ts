/** Tells webhooks what needs a person, once. See docs/protocol/webhooks.md. */
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { WebhookEvent } from '../../store/account/webhooks.ts'
import { type Condition, findConditions, isWorse } from '../attention.ts'

/**
 * Record an event for each condition of Attention that a webhook of the account was not told of, or that is much worse
 * now, and for a failed backup of the grid. Of several processes one records it: the others fail with `write_conflict`.
 */
export async function notifyOfConditions(account: AccountStore, backupFailedAt: number | undefined): Promise<void> {
  const { read, change: { webhooks }, deps: { now }, write } = account
  const found = await findConditions(account)
  for (const { id, events, notified } of await read.webhooks.withConditions()) {
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

/** Ids and aliases, and nothing of a text. */
function dataOf({ kind, subject, since, level, of }: Condition) {
  return { kind, subject, agents: aliasesOf(of).map((alias) => `@${alias}`), since, level }
}

function aliasesOf(of: Condition['of']): string[] {
  if ('agents' in of) return Array.isArray(of.agents) ? of.agents : []
  if ('client' in of) return [of.client, of.recipient]
  return 'alias' in of && of.alias !== null ? [of.alias] : []
}
