/** The next iteration of the event loop. */
import { setImmediate, setTimeout } from 'node:timers'

/** Calls `run` once the event loop has looked at the connections. On Deno it does so for timers only. */
export const nextIteration: (run: () => void) => void = 'Deno' in globalThis
  ? (run) => setTimeout(run, 0)
  : (run) => setImmediate(run)
