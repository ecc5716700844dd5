/** Files that are sent while they are read, and how many at a time. See docs/security.md, "Overload". */
import { GridError } from '../errors.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { streamedBody } from '../lib/http/streamed-body.ts'
import { hour } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import { refusal } from '../grid/answer-room.ts'

const advice = 'Repeat the call when one of them has been read.'

/** Take a place for a download until it is released. Fails with `rate_limit_exceeded`. */
function placeIn({ actor, waiting }: AccountStore, kind: 'downloads' | 'archives'): () => void {
  const caller = 'credentialId' in actor ? actor.credentialId : 'userId' in actor ? actor.userId : actor.job
  const reached = waiting[kind].reached(caller)
  if (reached) throw refusal(kind, reached, kind, advice)
  return waiting[kind].acquire(caller)!
}

/** The body of a download. A client that stops to read it is disconnected. Fails with `rate_limit_exceeded`. */
export function downloadBody(
  account: AccountStore,
  connection: CallerConnection,
  pieces: AsyncIterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  const release = placeIn(account, 'downloads')
  return streamedBody(pieces[Symbol.asyncIterator](), connection, { ahead: 0, maxMs: hour, release })
}

/** The same for an archive of the account, which begins when `make` and its first piece succeed. Fails as they do. */
export async function archiveBody(
  account: AccountStore,
  connection: CallerConnection,
  make: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<ReadableStream<Uint8Array>> {
  const release = placeIn(account, 'archives')
  try {
    const pieces = (await make())[Symbol.asyncIterator]()
    const first = await pieces.next()
    return streamedBody(beginningWith(first, pieces), connection, { ahead: 0, maxMs: hour, release })
  } catch (error) {
    release()
    // The operator reads the folder in the log.
    if (!(error instanceof GridError) || error.code !== 'storage_full') throw error
    account.deps.log.error('An export had too little space', { error })
    throw new GridError('storage_full', 'The grid has too little space for an export. Ask its operator for more.')
  }
}

/** An iterator and no generator: one that was not begun would not end what it holds. */
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
