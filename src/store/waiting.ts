/** What waits in this process: reads and streams of agents, woken by one path. Reliability 7, security A10. */
import type { Deps } from '../deps.ts'
import { Seats } from '../lib/seats.ts'
import { Wakes } from '../lib/wakes.ts'
import { watchArrivals } from './arrivals.ts'
import type { Arrivals } from './global/arrivals.ts'

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
 * Mail of other processes is looked for in `arrivals`; undefined where there are none, because a local file
 * has one process. When the process stops, all are woken and see it.
 */
export function openWaiting(deps: Deps, arrivals: Arrivals | undefined): Waiting & { close(): Promise<void> } {
  const ended = new AbortController()
  let watch: Promise<void> | undefined
  const wakes = new Wakes(watchWhileHeard)
  deps.stopping?.addEventListener('abort', () => wakes.wakeAll(), { once: true })

  /** One watch at a time: the next begins when the last has ended. */
  function watchWhileHeard(): void {
    if (!arrivals || watch || !wakes.areHeard || ended.signal.aborted) return
    watch = watchArrivals(arrivals, wakes, { log: deps.log, ended: ended.signal }).finally(() => {
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
