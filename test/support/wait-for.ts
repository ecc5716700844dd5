/**
 * Functions that wait for a condition. Tests never wait for a fixed time, which is too short on a loaded machine and
 * too long on any other. `test/sleeps.test.ts` finds tests that sleep.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

/** Much longer than a loaded machine needs, and shorter than a test's time limit. */
const limitMs = 60_000
const pollMs = 5

/**
 * Polls `condition` until its result is neither undefined nor false, and resolves to that result. Fails after a minute
 * with a message that names `what`.
 */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
): Promise<Exclude<T, undefined | void | false>> {
  const startedAt = performance.now()
  for (;;) {
    const result = await condition()
    if (result !== undefined && result !== false) return result as Exclude<T, undefined | void | false>
    if (performance.now() - startedAt > limitMs) throw new Error(`Waited ${limitMs / 1_000} s in vain for ${what}`)
    await sleep(pollMs)
  }
}

/** Waits for one turn of the event loop, in which all ready callbacks run. */
export async function turn(): Promise<void> {
  await setImmediate()
}

/** Whether `promise` has settled, after one turn of the event loop. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = () => void (settled = true)
  promise.then(note, note)
  await turn()
  return settled
}
