/** Removes expired rows, in small units between other writes. See docs/delivery.md, "Retention". */
import { GridError, isStorageFull } from '../errors.ts'
import { keyLifetimeMs } from '../grid/messaging/sent-message.ts'
import { attemptsKeptMs } from '../grid/people/attempts.ts'
import { newId } from '../lib/id.ts'
import { day, hour } from '../lib/time.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'

/** About how many rows one unit removes at most. */
const maxRows = 500
const maxMessages = 200
const maxAccounts = 100
const maxTasks = 50
/** How long an ended session still tells from where its user signs in. See docs/security.md, "Sign-in limits". */
const sessionsKeptMs = 30 * day
/** How long an expired invitation is still shown, so that it can be sent again. */
const invitationsKeptMs = 30 * day
/** How long people can see the text of a blocked message. */
const contentsKeptMs = 7 * day
/** Only the usage of today is needed. The rest is for clocks that differ, and for whoever asks what happened. */
const usageKeptMs = 7 * day
/** Only the last hour is needed. The rest is for who sent last. */
const turnsKeptMs = day
/** How long it is known when a browser was told of a thread: longer than it is not told again. */
const toldKeptMs = hour
/** Longer than every trial. See docs/security.md, "Unclaimed accounts". */
const unclaimedMs = 7 * day

/** Removes one unit of expired rows. Resolves to how many it removed, 0 if none are left. */
type Sweep = (store: Store, now: number) => Promise<number>

const retentionMs = (store: Store) => store.deps.config.retentionDays * day

/** By the name in the log, in an order that the foreign keys allow. */
const sweeps: Record<string, Sweep> = {
  'idempotency keys': (store, now) => removeKeys(store, now - keyLifetimeMs),
  messages: (store, now) => removeMessages(store, now - retentionMs(store)),
  tasks: (store, now) => remove(store, [store.global.retention.removeTasks(now - retentionMs(store), maxTasks)]),
  contexts: (store, now) => remove(store, [store.global.retention.removeContexts(now - retentionMs(store), maxRows)]),
  'verdicts': (store, now) => remove(store, [store.global.retention.removeVerdicts(now - retentionMs(store), maxRows)]),
  'texts of blocked messages': (store, now) =>
    remove(store, [store.global.retention.removeContents(now - contentsKeptMs, maxRows)]),
  'blocked sends': (store, now) =>
    remove(store, [store.global.retention.removeBlockedSends(now - keyLifetimeMs, maxRows)]),
  'counts of guardrails': (store, now) =>
    remove(store, [store.global.retention.removeGuardrailCounts(now - retentionMs(store), maxRows)]),
  notifications: (store, now) => remove(store, [store.global.notifications.removeTold(now - toldKeptMs, maxRows)]),
  snoozes: (store, now) => remove(store, [store.global.retention.removeSnoozes(now, maxRows)]),
  usage: (store, now) => remove(store, [store.global.retention.removeUsage(now - usageKeptMs, maxRows)]),
  'turns of conversations': (store, now) =>
    remove(store, [store.global.retention.removeTurns(now - turnsKeptMs, maxRows)]),
  sessions: (store, now) => remove(store, [store.global.sessions.removeEnded(now - sessionsKeptMs, maxRows)]),
  'passkey challenges': (store, now) =>
    remove(store, [store.global.secondFactors.removeExpiredChallenges(now, maxRows)]),
  links: (store, now) => remove(store, [store.global.links.removeExpired(now, maxRows)]),
  invitations: (store, now) =>
    remove(store, [store.global.invitations.removeExpired(now - invitationsKeptMs, maxRows)]),
  // Five statements, each with its own limit.
  'OAuth rows': (store, now) => remove(store, store.global.oauth.removeExpired(now, maxRows / 5)),
  attempts: (store, now) => remove(store, [store.global.attempts.removeOld(now - attemptsKeptMs, maxRows)]),
  'unclaimed accounts': (store, now) => removeUnclaimed(store, now - unclaimedMs, now),
}

/**
 * Remove all expired rows, or stop when `signal` aborts. Several processes may do this at the same time. A failure is
 * logged, and tried again at the next sweep.
 */
export async function sweep(store: Store, signal?: AbortSignal): Promise<void> {
  const { log, now } = store.deps
  for (const [name, removeUnit] of Object.entries(sweeps)) {
    try {
      let total = 0
      for (let removed = 1; removed > 0 && !signal?.aborted; total += removed) removed = await removeUnit(store, now())
      if (total > 0) log.info(`Removed old ${name}`, { count: total })
    } catch (error) {
      // The storage has said so.
      if (isStorageFull(error)) return
      log.warn(`Old ${name} were not removed`, { error })
    }
  }
}

/** Each statement returns the rows that it removed. */
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

/** Removes messages whose retention has ended, read or not. */
async function removeMessages(store: Store, until: number): Promise<number> {
  let removed = 0
  for (const { id } of await store.global.retention.accountsWithMessages(until, maxAccounts)) {
    const account = accountStore(store, id)
    const messages = await account.read.retention.messages(until, maxMessages)
    const ids: string[] = []
    let rows = 0
    for (const message of messages) {
      // A post to a channel has one row per member. One message is always removed whole.
      if (ids.length > 0 && rows + message.recipients >= maxRows) break
      ids.push(message.id)
      rows += message.recipients + 1
    }
    if (ids.length > 0) await account.write(account.change.retention.removeMessages(ids, rows))
    removed += ids.length
  }
  return removed
}

/** One unit per account, which is small because its agents are on trial. */
async function removeUnclaimed(store: Store, until: number, now: number): Promise<number> {
  let removed = 0
  for (const { id } of await store.global.retention.unclaimed(until, now, maxAccounts)) {
    const account = accountStore(store, id)
    try {
      await account.write(account.change.unclaimed.remove(until, now))
      removed++
    } catch (error) {
      // The account was claimed or joined meanwhile, or removed by another process.
      if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    }
  }
  return removed
}

function accountStore(store: Store, accountId: string) {
  return store.account(accountId, { type: 'system', job: 'retention' })
}

const tasksAtATime = 100

const inTime = 'The time limit passed without an answer.'
const deleted = 'The recipient was deleted.'

/** Fail every task whose time is over. Several processes may do this at the same time. */
export async function failTasks(store: Store, signal?: AbortSignal): Promise<void> {
  const { deps: { now }, global: { retention }, waiting: { notifier } } = store
  for (let count = tasksAtATime; count === tasksAtATime && !signal?.aborted;) {
    const found = await retention.tasksToFail(now(), tasksAtATime)
    count = found.length
    const failing = found.map(({ accountId, id, expiresAt }) => {
      const account = store.account(accountId, { type: 'system', job: 'tasks' })
      const reason = expiresAt === 0 ? deleted : inTime
      const change = { task: id, event: newId(), at: now(), state: 'failed' as const, reason }
      return account.write(account.change.tasks.change({ end: 'grid' }, change))
    })
    await Promise.all(failing)
    notifier.wake(found.map(({ id }) => id))
  }
}
