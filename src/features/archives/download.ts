/** Streams archives to clients, and limits concurrent downloads. See docs/security.md, "Overload". */
import { placeIn } from '../../answers/downloads.ts'
import { GridError } from '../../errors.ts'
import type { CallerConnection } from '../../lib/http/caller-connection.ts'
import { streamedBody } from '../../lib/http/streamed-body.ts'
import { ConcurrencyLimit } from '../../lib/limits/concurrency-limit.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'

/** Low, because each download temporarily stores a copy of the complete database. */
const limits = { perKey: Infinity, perGroup: 1, total: 2 }

const places = new WeakMap<Store, ConcurrencyLimit>()

/** The download slots of a process. */
export function placesOf(store: Store): ConcurrencyLimit {
  let found = places.get(store)
  if (!found) places.set(store, found = new ConcurrencyLimit(limits))
  return found
}

/**
 * The response body. Resolves once `make` and the first chunk succeed. A client that stops reading is disconnected.
 * Fails with `rate_limit_exceeded`, and with the errors of `make` and of the first chunk.
 */
export async function archiveBody(
  store: Store,
  account: AccountStore,
  connection: CallerConnection,
  make: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<ReadableStream<Uint8Array>> {
  const release = placeIn(placesOf(store).of(account.owner), 'archives', account)
  try {
    const pieces = (await make())[Symbol.asyncIterator]()
    const first = await pieces.next()
    return streamedBody(beginningWith(first, pieces), connection, { ahead: 0, maxMs: hour, release })
  } catch (error) {
    release()
    // The original error contains the folder's path, so it is only logged, for the operator.
    if (!(error instanceof GridError) || error.code !== 'storage_full') throw error
    account.deps.log.error('An export had too little space', { error })
    throw new GridError('storage_full', 'The grid has too little space for an export. Ask its operator for more.')
  }
}

/** Not a generator, because ending a generator that never started would not end `rest`. */
function beginningWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncIterator<Uint8Array> {
  let next: IteratorResult<Uint8Array> | undefined = first
  return {
    async next() {
      const result = next ?? await rest.next()
      next = undefined
      return result
    },
    return: async () => await rest.return?.() ?? { done: true, value: undefined },
  }
}
