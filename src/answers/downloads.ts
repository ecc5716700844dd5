/** Streams downloads and limits how many run concurrently. See docs/security.md, "Overload". */
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { streamedBody } from '../lib/http/streamed-body.ts'
import type { GroupLimit } from '../lib/limits/concurrency-limit.ts'
import { hour } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import { refusal } from '../grid/answer-room.ts'

const advice = 'Repeat the call once one of them has been read.'

/** Takes a slot for a download of this kind until the returned function is called. Fails with `rate_limit_exceeded`. */
export function placeIn(limit: GroupLimit, kind: string, { actor }: AccountStore): () => void {
  const caller = 'credentialId' in actor ? actor.credentialId : 'userId' in actor ? actor.userId : actor.job
  const reached = limit.reached(caller)
  if (reached) throw refusal(kind, reached, kind, advice)
  return limit.acquire(caller)!
}

/** Returns a download's response body. Disconnects a client that stops reading it. Fails with `rate_limit_exceeded`. */
export function downloadBody(
  account: AccountStore,
  connection: CallerConnection,
  pieces: AsyncIterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  const release = placeIn(account.waiting.downloads, 'downloads', account)
  return streamedBody(pieces[Symbol.asyncIterator](), connection, { ahead: 0, maxMs: hour, release })
}
