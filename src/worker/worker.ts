/** The door that time knocks on: what a serving process does by itself. */
import { hour, minute, second } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { logActivityHeads } from './activity-heads.ts'
import { OpenReads } from './leases.ts'
import { sweep } from './retention.ts'

const beatMs = 15 * second
/** The first sweep comes soon, for processes that never live an hour. */
const firstSweepMs = minute
const sweepMs = hour

export interface Worker {
  /** Begin no more, and wait for what runs. May be called again. */
  stop(): Promise<void>
}

/** Give back what dead processes left behind, and then do the work of each interval until `stop`. */
export async function startWorker(store: Store): Promise<Worker> {
  const ended = new AbortController()
  const openReads = new OpenReads(store)
  await openReads.start()

  const works = [
    every(sweepMs, firstSweepMs, () => sweep(store, ended.signal)),
    every(hour, minute, () => logActivityHeads(store, ended.signal)),
    // Other processes on a database that takes several.
    ...(store.durability === 'remote' ? [every(beatMs, beatMs, () => openReads.beat())] : []),
  ]

  /** One after the other: the next begins an interval after the last has ended. */
  function every(ms: number, firstMs: number, work: () => Promise<void>): () => Promise<void> {
    let running = Promise.resolve()
    let timer = setTimeout(run, firstMs)
    function run(): void {
      running = work()
        .catch((error) => store.deps.log.warn('A task of the worker failed', { error }))
        .finally(() => {
          if (!ended.signal.aborted) timer = setTimeout(run, ms)
        })
    }
    return async () => {
      clearTimeout(timer)
      await running
    }
  }

  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    ended.abort()
    await Promise.all(works.map((end) => end()))
    await openReads.stop().catch((error) => store.deps.log.warn('The end of this process was not noted', { error }))
  }
  return { stop: () => stopped ??= stop() }
}
