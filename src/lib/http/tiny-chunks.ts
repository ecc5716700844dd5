/**
 * Refuses bodies in tiny chunks, which cost hundreds of times as much as one piece. See docs/security.md, "Requests".
 */
import { GridError } from '../../errors.ts'

/** This many chunks may have any size. If there are more, chunks must have at least `minAverageBytes` on average. */
const anyChunks = 100
const minAverageBytes = 64

export const tinyChunks = 'The body comes in too many tiny chunks. Send larger ones.'

/** Returns a function that takes each chunk's length. It returns true once the chunks are too small. */
export function tinyChunkCounter(): (bytes: number) => boolean {
  let chunks = 0
  let total = 0
  return (bytes) => {
    total += bytes
    return ++chunks > anyChunks && total < chunks * minAverageBytes
  }
}

/** Yields a body's chunks. Fails with `invalid_request` as soon as they are too small. */
export async function* withoutTinyChunks(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const areTiny = tinyChunkCounter()
  for await (const chunk of body) {
    if (areTiny(chunk.byteLength)) throw new GridError('invalid_request', tinyChunks)
    yield chunk
  }
}
