/** The dance of reading, then writing conditionally. */
import { GridError } from '../errors.ts'

const maxAttempts = 3

/**
 * Run a read and its write again when the write was refused because something changed in between:
 * the second reading finds out what, and says so. Fails with what `attempt` fails with.
 */
export async function againOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let n = 1;; n++) {
    try {
      return await attempt()
    } catch (error) {
      const changed = error instanceof GridError && error.code === 'write_conflict'
      if (!changed || n === maxAttempts) throw error
    }
  }
}
