/** Optimistic concurrency: read, then write with preconditions, and retry if they failed. */
import { GridError } from '../errors.ts'

const maxAttempts = 3

/** Runs `attempt` again after a `write_conflict`. The next read usually finds the cause. */
export async function retryOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let n = 1;; n++) {
    try {
      return await attempt()
    } catch (error) {
      const changed = error instanceof GridError && error.code === 'write_conflict'
      if (!changed || n === maxAttempts) throw error
    }
  }
}
