/** Removes what is past its time, in small units beside the other work. Reliability 1.1 and 1.2. */
import { keyLifetimeMs } from '../grid/messages.ts'
import { day } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/** Most rows of one unit, and most keys or messages that are looked at for it. */
const maxRows = 500
const maxLooked = 200
const maxAccounts = 100

/** One kind of thing that gets old: `remove` one unit of it, and say how many are gone; 0 when none is left. */
type Sweep = (store: Store, now: number) => Promise<number>

/** In an order that the foreign keys take. */
const sweeps: Record<string, Sweep> = {
  'idempotency keys': (store, now) => removeKeys(store, now - keyLifetimeMs),
  messages: (store, now) => removeMessages(store, now - store.deps.config.retentionDays * day),
}

/**
 * Remove all that is past its time, unless `ended` comes first. Repeated, or by several processes at once, it does
 * no harm: what is gone is gone. What fails is in the log, and is tried again the next time.
 */
export async function sweep(store: Store, ended?: AbortSignal): Promise<void> {
  const { log, now } = store.deps
  for (const [name, removeSome] of Object.entries(sweeps)) {
    try {
      let total = 0
      for (let gone = 1; gone > 0 && !ended?.aborted; total += gone) gone = await removeSome(store, now())
      if (total > 0) log.info(`Removed old ${name}`, { count: total })
    } catch (error) {
      log.warn(`Old ${name} were not removed`, { error })
    }
  }
}

async function removeKeys(store: Store, until: number): Promise<number> {
  const old = await store.global.retention.keys(until, maxRows)
  for (const accountId of new Set(old.map((key) => key.accountId))) {
    const messageIds = old.filter((key) => key.accountId === accountId).map((key) => key.messageId)
    const account = enter(store, accountId)
    await account.write([account.change.retention.removeKeys(messageIds, until)])
  }
  return old.length
}

/** Read or not: a message stays until its retention ends, whatever its recipient does. */
async function removeMessages(store: Store, until: number): Promise<number> {
  let gone = 0
  for (const { id } of await store.global.retention.accountsWithMessages(until, maxAccounts)) {
    const account = enter(store, id)
    const old = await account.read.retention.messages(until, maxLooked)
    const ids: string[] = []
    let rows = 0
    for (const message of old) {
      // A post has a row per member; one message always fits.
      if (ids.length > 0 && rows + message.recipients >= maxRows) break
      ids.push(message.id)
      rows += message.recipients + 1
    }
    if (ids.length > 0) await account.write(account.change.retention.removeMessages(ids, rows))
    gone += ids.length
  }
  return gone
}

function enter(store: Store, accountId: string) {
  return store.account(accountId, { type: 'system', job: 'retention' })
}
