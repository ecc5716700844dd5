/** What waits in this process: reads and streams of agents, woken by one path. Reliability 7, security A10. */
import type { Deps } from '../deps.ts'
import { Seats } from '../lib/concurrency-limit.ts'
import { Wakes } from '../lib/notifier.ts'
import { arrivalsWatch } from './new-deliveries.ts'
import type { Arrivals } from './global/new-deliveries.ts'

/** Per credential, for waits and for streams. */
const perCredential = 3
/** In the whole process: each costs a socket and some 20 KiB. */
const perProcess = 10_000

export interface Waiting {
  /** Rung after the commit, for every recipient. */
  readonly wakes: Wakes
  /** Reads that wait, by credential. */
  readonly reads: Seats
  /** Event streams of any kind, by credential. */
  readonly streams: Seats
}

/**
 * While somebody waits, `arrivals` are looked for. `isAlone`: the database has no other process, as a local file.
 * When the process stops, all are woken and see it.
 */
export function openWaiting(deps: Deps, arrivals: Arrivals, isAlone: boolean): Waiting & { close(): Promise<void> } {
  const ended = new AbortController()
  let watch: Promise<void> | undefined
  const wakes = new Wakes(watchWhileHeard)
  const look = arrivalsWatch(arrivals, wakes, { log: deps.log, ended: ended.signal, isAlone })
  deps.stopping?.addEventListener('abort', () => wakes.wakeAll(), { once: true })

  /** One watch at a time: the next begins when the last has ended. */
  function watchWhileHeard(): void {
    if (watch || !wakes.areHeard || ended.signal.aborted) return
    watch = look().finally(() => {
      watch = undefined
      watchWhileHeard()
    })
  }

  return {
    wakes,
    reads: new Seats({ perKey: perCredential, total: perProcess }),
    streams: new Seats({ perKey: perCredential, total: perProcess }),
    async close() {
      ended.abort()
      await watch
    },
  }
}
