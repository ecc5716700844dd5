/** Removes what is past its time, in small units beside the other work. Reliability 1.1 and 1.2. */
import { GridError } from '../errors.ts'
import { keyLifetimeMs } from '../grid/messaging/send-message.ts'
import { attemptsKeptMs } from '../grid/people/throttle.ts'
import { day } from '../lib/time.ts'
import type { Statement } from '../store/driver/binding.ts'
import type { Store } from '../store/store.ts'

/** Most rows of one unit, and most keys or messages that are looked at for it. */
const maxRows = 500
const maxLooked = 200
const maxAccounts = 100
/** How long an invitation that was not accepted is still shown as expired, so that it can be sent again. */
const invitationsKeptMs = 30 * day
/** Security: section 4, rule 8. Nobody's trial is cut short by it. */
const unclaimedMs = 7 * day

/** One kind of thing that gets old: `remove` one unit of it, and say how many are gone; 0 when none is left. */
type Sweep = (store: Store, now: number) => Promise<number>

/** In an order that the foreign keys take. */
const sweeps: Record<string, Sweep> = {
  'idempotency keys': (store, now) => removeKeys(store, now - keyLifetimeMs),
  messages: (store, now) => removeMessages(store, now - store.deps.config.retentionDays * day),
  sessions: (store, now) => remove(store, [store.global.sessions.removeGone(now, maxRows)]),
  links: (store, now) => remove(store, [store.global.links.removeExpired(now, maxRows)]),
  invitations: (store, now) =>
    remove(store, [store.global.invitations.removeExpired(now - invitationsKeptMs, maxRows)]),
  'OAuth rows': (store, now) => remove(store, store.global.oauth.removeExpired(now, maxRows / 5)),
  attempts: (store, now) => remove(store, [store.global.attempts.removeOld(now - attemptsKeptMs, maxRows)]),
  'accounts that nobody claimed': (store, now) => removeUnclaimed(store, now - unclaimedMs, now),
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

/** Each statement tells with its rows what it removed. */
async function remove(store: Store, statements: Statement[]): Promise<number> {
  return (await store.write(statements)).flat().length
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

/** One unit for each: its agents are on trial, so it is small. */
async function removeUnclaimed(store: Store, until: number, now: number): Promise<number> {
  let gone = 0
  for (const { id } of await store.global.retention.unclaimed(until, now, maxAccounts)) {
    const account = enter(store, id)
    try {
      await account.write(account.change.unclaimed.remove(until, now))
      gone++
    } catch (error) {
      // Claimed or joined since the look, or removed by another process.
      if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    }
  }
  return gone
}

function enter(store: Store, accountId: string) {
  return store.account(accountId, { type: 'system', job: 'retention' })
}
