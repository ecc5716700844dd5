/** The periodic tasks of a server process. */
import { checkDomains } from '../grid/accounts/sso-provider.ts'
import { keepSigningKeys } from '../grid/cards.ts'
import { hour, minute, second } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { backUpIfDue } from './backups.ts'
import { keepClock, removePreviousFiles } from './clock.ts'
import { sendDigests, tellOfPauses } from './digests.ts'
import { LeaseRecovery } from './leases.ts'
import { PushNotifier } from './push.ts'
import { type LineAttempts, RemoteLines } from './remote-lines.ts'
import { tellWebhooks } from './webhooks.ts'
import { expireHeldMessages, expireMessages, failTasks, sweep } from './retention.ts'
import { LogFollower } from './threads.ts'

export interface Worker {
  stop(): Promise<void>
}

/** Recover leases, then run each task at its interval until `stop`. `attempts`: the requests that doors write. */
export async function startWorker(store: Store, attempts?: LineAttempts): Promise<Worker> {
  const stopping = new AbortController()
  const startedAt = store.deps.now()
  const leases = new LeaseRecovery(store)
  const startsFull = await store.storage.check()
  await keepClock(store)
  await leases.start()
  const follower = new LogFollower(store)
  const notifier = new PushNotifier(store)
  const remoteLines = new RemoteLines(store, attempts)

  const stopTasks = [
    // The first time soon after the start, for processes that do not run for an hour.
    every(hour, removeOld, minute),
    every(second, watchStorage),
    every(hour, () => keepSigningKeys(store), minute),
    every(hour, () => checkDomains(store), minute),
    every(10 * minute, () => Promise.resolve(removePreviousFiles(store, startedAt))),
    every(minute, (isFirst) => backUpIfDue(store, isFirst), 0),
    every(5 * second, () => tellOfPauses(store)),
    every(2 * second, () => notifier.run()),
    every(second, () => remoteLines.run(), 0),
    every(minute, () => tellWebhooks(store)),
    every(minute, () => sendDigests(store, stopping.signal)),
    every(2 * second, () => failTasks(store, stopping.signal)),
    every(second, () => expireMessages(store, stopping.signal)),
    every(second, () => expireHeldMessages(store, stopping.signal)),
    // For messages of processes that were killed before they placed them in conversations.
    every(5 * second, () => follower.run(), 0),
    // Only a remote database has several processes.
    every(15 * second, () => store.durability === 'remote' ? leases.heartbeat() : leases.releaseExpired()),
  ]

  /** Hourly, so this also stores the time. */
  async function removeOld(): Promise<void> {
    if (await keepClock(store)) await sweep(store, stopping.signal)
  }

  /** Old rows are removed as soon as space is needed. */
  let sweeping = startsFull ? removeOld().catch(logFailure) : Promise.resolve()
  async function watchStorage(): Promise<void> {
    if (await store.storage.check()) sweeping = removeOld().catch(logFailure)
  }

  function logFailure(error: unknown): void {
    store.deps.log.warn('A task of the worker failed', { error })
  }

  /** Run `task` again `ms` after it has ended. Returns the function that stops this and waits for the running task. */
  function every(ms: number, task: (isFirst: boolean) => Promise<void>, firstMs = ms): () => Promise<void> {
    let running = Promise.resolve()
    let timer = setTimeout(run, firstMs, true)
    function run(isFirst: boolean): void {
      running = task(isFirst)
        .catch(logFailure)
        .finally(() => {
          if (!stopping.signal.aborted) timer = setTimeout(run, ms, false)
        })
    }
    return async () => {
      clearTimeout(timer)
      await running
    }
  }

  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    stopping.abort()
    await Promise.all([notifier.stop(), remoteLines.stop()])
    await Promise.all(stopTasks.map((stopTask) => stopTask()))
    await sweeping
    await follower.stop()
    await leases.stop().catch((error) => store.deps.log.warn('The end of this process was not recorded', { error }))
  }
  return { stop: () => stopped ??= stop() }
}
