/** The background work of a server process: the log followers and the scheduled duties. */
import { features } from '../features.ts'
import { keepSigningKeys } from '../grid/cards.ts'
import { hour, minute, second } from '../lib/time.ts'
import type { Duty } from '../store/loop.ts'
import type { Store } from '../store/store.ts'
import { backUpIfDue } from './backups.ts'
import { keepClock, removePreviousFiles } from './clock.ts'
import { gridFollowers } from './followers.ts'
import { LeaseRecovery } from './leases.ts'
import { type OutboxAttempts, Outboxes } from './outboxes.ts'
import { notifyOfPauses } from './pauses.ts'
import { lookAtReservations } from './reservations.ts'
import { sendDue } from './scheduled.ts'
import { expireHeldMessages, expireMessages, failTasks, sweep } from './retention.ts'

export interface Worker {
  stop(): Promise<void>
}

/**
 * Recovers leases, then follows the log and performs the duties until `stop`. `attempts` makes the requests whose
 * bodies have the format of API responses.
 */
export async function startWorker(store: Store, attempts?: OutboxAttempts): Promise<Worker> {
  const stopping = new AbortController()
  const startedAt = store.deps.now()
  const leases = new LeaseRecovery(store)
  const startsFull = await store.storage.check()
  await keepClock(store)
  await leases.start()
  const outboxes = new Outboxes(store, attempts)
  const { global: { pulses } } = store

  const duties: Duty[] = [
    { name: 'expiry', run: () => expireMessages(store, stopping.signal) },
    { name: 'held messages', run: () => expireHeldMessages(store, stopping.signal) },
    { name: 'tasks', run: () => failTasks(store, stopping.signal) },
    outboxes.duty,
    { name: 'scheduled messages', run: () => sendDue(store, stopping.signal) },
    { name: 'reservations', run: () => lookAtReservations(store) },
    // Runs frequently, to record tool calls, which extend reservations, and to end the reservations of ended tasks.
    { name: 'calls of tools', everyMs: 15 * second, run: () => lookAtReservations(store) },
    { name: 'pauses', run: () => notifyOfPauses(store) },
    { name: 'storage', everyMs: second, run: watchStorage },
    // Heartbeats are needed only for a remote database, because several processes can share it.
    {
      name: 'leases',
      everyMs: 15 * second,
      run: () => store.durability === 'remote' ? leases.heartbeat() : leases.releaseExpired(),
    },
    { name: 'backups', everyMs: minute, firstMs: 0, run: backUp },
    { name: 'old rows of the log', everyMs: 10 * minute, firstMs: 0, run: trimLog },
    {
      name: 'previous files',
      everyMs: 10 * minute,
      run: () => Promise.resolve(removePreviousFiles(store, startedAt)),
    },
    // The first run is soon after the start, for processes that run for less than an hour.
    { name: 'retention', everyMs: hour, firstMs: minute, run: removeOld },
    { name: 'signing keys', everyMs: hour, firstMs: minute, run: () => keepSigningKeys(store) },
    ...features.flatMap(({ duties }) => duties?.(store, stopping.signal) ?? []),
  ]
  const followers = gridFollowers(store)
  const ends = [
    ...followers.map((follower) => store.loop.follow(follower)),
    ...duties.map((duty) => store.loop.perform(duty)),
  ]

  let isStart = true
  async function backUp(): Promise<void> {
    const isFirst = isStart
    isStart = false
    await backUpIfDue(store, isFirst)
  }

  async function trimLog(): Promise<void> {
    const names = followers.map(({ name }) => name)
    await store.write([...pulses.keep(names), pulses.trim(names)])
  }

  /** Runs hourly, so it also stores the time. */
  async function removeOld(): Promise<void> {
    if (await keepClock(store)) await sweep(store, stopping.signal)
  }

  /** If the disk is full, old rows are removed immediately. */
  let sweeping = startsFull ? removeOld().catch(logFailure) : Promise.resolve()
  async function watchStorage(): Promise<void> {
    if (await store.storage.check()) sweeping = removeOld().catch(logFailure)
  }

  function logFailure(error: unknown): void {
    store.deps.log.warn('A worker task failed', { error })
  }

  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    stopping.abort()
    await Promise.all([outboxes.stop(), ...ends.map((end) => end())])
    await sweeping
    await leases.stop().catch((error) =>
      store.deps.log.warn('The end of this process could not be recorded', { error })
    )
  }
  return { stop: () => stopped ??= stop() }
}
