/** Removes what is kept from before a migration. See docs/operations.md, "The file before an upgrade". */
import { hour } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/** A server that has run for so long has started well. */
const goodStartMs = hour

/** Remove the copies beside the local file if the server, which runs since `startedAt`, has started well. */
export function removePreviousFiles(store: Store, startedAt: number): void {
  const { now, log } = store.deps
  if (now() - startedAt < goodStartMs) return
  for (const file of store.removePreviousFiles()) {
    log.info('The copy from before the migration was removed', { file })
  }
}
