/** Removes expired rows in small units, so that other writes can run in between. See docs/delivery.md, "Retention". */
import { GridError, isStorageFull } from '../errors.ts'
import { deletedKeptMs } from '../grid/accounts/deletion.ts'
import { usageDays } from '../grid/limits.ts'
import { expireHeld } from '../grid/approvals/end-held.ts'
import { uploadLifetimeMs } from '../grid/message/open-upload.ts'
import { keyLifetimeMs } from '../grid/send/once.ts'
import { attemptsKeptMs } from '../grid/people/attempts.ts'
import { newId } from '../lib/id.ts'
import { day, hour } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { TaskChange } from '../store/account/task-changes.ts'
import { quietMs } from '../store/global/pulse.ts'
import type { OldRows } from '../store/global/retention.ts'
import { trafficKeptMs } from '../store/global/traffic.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'

/** Approximate maximum number of rows removed per unit. */
const maxRows = 500
const maxMessages = 200
const maxAccounts = 100
/** Age at which an unclaimed account is removed. Longer than every trial. */
const unclaimedMs = 7 * day

/** Returns the retention times of data that is removed by age alone, by its name in the log. */
function keptMs({ deps: { config } }: Store): Record<OldRows, number> {
  const retention = config.retentionDays * day
  return {
    tasks: retention,
    contexts: retention,
    'remote tasks': retention,
    verdicts: retention,
    'texts of blocked messages': 7 * day,
    // Contents come before uploads, because an upload is removed only after its contents.
    'contents of uploads': uploadLifetimeMs,
    uploads: uploadLifetimeMs,
    'blocked sends': keyLifetimeMs,
    'counts of guardrails': retention,
    // A browser gets at most one notification per thread within this time.
    notifications: hour,
    snoozes: 0,
    'counts of hours': trafficKeptMs[hour],
    'counts of days': trafficKeptMs[day],
    usage: usageDays * day,
    // Turn limits need only the last hour. The remaining time serves to record who sent last.
    'turns of conversations': day,
    // Kept to show where the user signs in from.
    sessions: 30 * day,
    'skipped rows': 7 * day,
    'sign-in challenges': 0,
    links: 0,
    attempts: attemptsKeptMs,
    // Kept to show expired invitations, which can then be sent again.
    invitations: 30 * day,
  }
}

/**
 * Returns the sweeps, in an order that satisfies the foreign keys. Each call removes one unit of rows older than a
 * time, and resolves to their number.
 */
function sweepsOf(store: Store): [name: string, sweep: (now: number) => Promise<number>][] {
  const { retention, oauth } = store.global
  const kept = Object.entries(keptMs(store)) as [OldRows, number][]
  return [
    ['idempotency keys', (now) => removeKeys(store, now - keyLifetimeMs)],
    ['messages', (now) => removeMessages(store, now)],
    ...kept.map(([old, ms]): ReturnType<typeof sweepsOf>[number] => [
      old,
      (now) => remove(store, [retention.remove(old, now - ms, maxRows)]),
    ]),
    // Runs five statements, each with its own limit.
    ['OAuth rows', (now) => remove(store, oauth.removeExpired(now, maxRows / 5))],
    ['unclaimed accounts', async (now) => {
      const [until, found] = [now - unclaimedMs, await retention.unclaimed(now - unclaimedMs, now, maxAccounts)]
      return await beginRemovals(store, found, (removal) => removal.beginUnclaimed(until, now))
    }],
    ['deleted accounts', async (now) => {
      const until = now - deletedKeptMs
      return await beginRemovals(store, await retention.deleted(until, maxAccounts), (removal) => removal.begin(until))
    }],
    ['rows of removed accounts', () => removeAccount(store)],
  ]
}

/** Removes all expired rows, or stops when `signal` aborts. Safe to run in several processes. */
export async function sweep(store: Store, signal?: AbortSignal): Promise<void> {
  const { log, now } = store.deps
  for (const [name, removeUnit] of sweepsOf(store)) {
    try {
      let total = 0
      for (let removed = 1; removed > 0 && !signal?.aborted; total += removed) removed = await removeUnit(now())
      if (total > 0) log.info(`Removed old ${name}`, { count: total })
    } catch (error) {
      // The storage layer has already logged this.
      if (isStorageFull(error)) return
      log.warn(`Old ${name} were not removed`, { error })
    }
  }
}

/** Runs statements that return their removed rows. Resolves to the number of these rows. */
async function remove(store: Store, statements: Statement[]): Promise<number> {
  return (await store.write(statements)).flat().length
}

async function removeKeys(store: Store, until: number): Promise<number> {
  const expired = await store.global.retention.keys(until, maxRows)
  for (const accountId of new Set(expired.map((key) => key.accountId))) {
    const messageIds = expired.filter((key) => key.accountId === accountId).map((key) => key.messageId)
    const account = accountStore(store, accountId)
    await account.write([account.change.retention.removeKeys(messageIds, until)])
  }
  return expired.length
}

/** Removes messages whose retention time is over, whether read or not. */
async function removeMessages(store: Store, now: number): Promise<number> {
  const kept = store.deps.config.retentionDays * day
  let removed = 0
  for (const { id, until } of await store.global.retention.accountsWithMessages(now, kept, maxAccounts)) {
    removed += await removeOldest(accountStore(store, id), until)
  }
  return removed
}

/** Removes a unit of an account's oldest messages that were stored by `until`. */
async function removeOldest(account: AccountStore, until: number): Promise<number> {
  const ids: string[] = []
  let rows = 0
  for (const message of await account.read.retention.messages(until, maxMessages)) {
    // A post to a channel has a row per member. A message is always removed completely.
    if (ids.length > 0 && rows + message.recipients >= maxRows) break
    ids.push(message.id)
    rows += message.recipients + 1
  }
  if (ids.length > 0) await account.write(account.change.retention.removeMessages(ids, rows))
  return ids.length
}

/** Starts to remove accounts. Skips accounts that another process has claimed, joined, restored or removed. */
async function beginRemovals(
  store: Store,
  found: { id: string }[],
  begin: (removal: AccountStore['change']['removal']) => Statement[],
): Promise<number> {
  let begun = 0
  for (const { id } of found) {
    const account = accountStore(store, id)
    try {
      await account.write(begin(account.change.removal))
      begun++
    } catch (error) {
      if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    }
  }
  return begun
}

/** Removes one unit of an account: first messages, then the other tables in order, and finally the account. */
async function removeAccount(store: Store): Promise<number> {
  const [found] = await store.global.retention.removing(1)
  if (!found) return 0
  const account = accountStore(store, found.id)
  const messages = await removeOldest(account, Number.MAX_SAFE_INTEGER)
  if (messages > 0) return messages
  for (const drain of account.change.removal.drains(maxRows)) {
    const [removed] = await account.write([drain])
    if (removed.length > 0) return removed.length
  }
  await account.write(account.change.removal.end())
  return 1
}

function accountStore(store: Store, accountId: string) {
  return store.account(accountId, { type: 'system', job: 'retention' })
}

/** Expires all unread messages whose time limit has passed. Safe to run in several processes. */
export async function expireMessages(store: Store, signal?: AbortSignal): Promise<void> {
  const { deps: { now }, global: { retention } } = store
  for (let count = maxRows; count === maxRows && !signal?.aborted;) {
    const found = await retention.expiring(now(), maxRows)
    count = found.length
    for (const accountId of new Set(found.map((delivery) => delivery.accountId))) {
      const account = store.account(accountId, { type: 'system', job: 'expiry' })
      const ofAccount = found.filter((delivery) => delivery.accountId === accountId)
      await account.write(account.change.endings.expire(ofAccount, now()))
    }
  }
}

const heldAtATime = 100

/** Refuses all held messages whose time to decide is over. Safe to run in several processes. */
export async function expireHeldMessages(store: Store, signal?: AbortSignal): Promise<void> {
  for (let count = heldAtATime; count === heldAtATime && !signal?.aborted;) {
    const found = await store.global.retention.heldExpiring(store.deps.now(), heldAtATime)
    count = found.length
    for (const { accountId, id } of found) {
      await expireHeld(store.account(accountId, { type: 'system', job: 'approvals' }), id).catch((error) => {
        if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
      })
    }
  }
}

const tasksAtATime = 100

const inTime = 'The time limit passed without an answer.'
const deleted = 'The recipient was deleted.'

/** Fails tasks whose time limit has passed, and notifies clients of inactive ones. Safe in several processes. */
export async function failTasks(store: Store, signal?: AbortSignal): Promise<void> {
  const { deps: { now }, global: { retention } } = store
  for (let count = tasksAtATime; count === tasksAtATime && !signal?.aborted;) {
    const found = await retention.tasksToFail(now(), tasksAtATime)
    count = found.length
    await changeTasks(found.map(({ accountId, id, expiresAt }) => {
      const reason = expiresAt === 0 ? deleted : inTime
      return { accountId, change: { task: id, state: 'failed', reason } }
    }))
  }
  for (let count = tasksAtATime; count === tasksAtATime && !signal?.aborted;) {
    const since = now() - quietMs
    const found = await retention.quietTasks(since, tasksAtATime)
    count = found.length
    await changeTasks(found.map(({ accountId, id, recipientAlias }) => {
      const reason = `@${recipientAlias} has said nothing about this task for an hour. It may still be working.`
      return { accountId, change: { task: id, state: 'working', reason, quiet: { since } } }
    }))
  }

  async function changeTasks(found: { accountId: string; change: Omit<TaskChange, 'event' | 'at'> }[]): Promise<void> {
    await Promise.all(found.map(({ accountId, change }) => {
      const account = store.account(accountId, { type: 'system', job: 'tasks' })
      const event = { ...change, event: newId(), at: now() }
      return account.write(account.change.tasks.change({ end: 'grid' }, event))
    }))
  }
}
