import { minute, second } from '../lib/time.ts'

/** Resolves after so many ms, or when `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (!(ms > 0) || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

/** When to open a stream again, in ms: after 1 s up to 1 min. Random, so that clients do not all come back at one moment. */
export function reconnectMs(failures: number): number {
  return Math.min(second * 2 ** Math.max(0, failures - 1), minute) * (0.5 + Math.random() / 2)
}
