/** Response bodies for clients that read slowly, stop reading, or leave. */
import { expect, test } from 'vitest'
import { CallerConnection } from '../../../src/lib/http/caller-connection.ts'
import { streamedBody } from '../../../src/lib/http/streamed-body.ts'
import { waitFor } from '../../support/wait-for.ts'

function numbered(options: { maxStallMs?: number; maxMs?: number }, last = Infinity) {
  const of = { made: 0, released: 0, disconnected: 0 }
  async function* pieces(): AsyncGenerator<Uint8Array> {
    while (of.made < last) yield new Uint8Array([++of.made])
  }
  const connection = new CallerConnection(new Request('http://grid.example/'), {
    answerSent: () => Promise.resolve(void of.disconnected++),
  })
  const body = streamedBody(pieces(), connection, { ahead: 0, ...options, release: () => of.released++ })
  return { of, body, reader: body.getReader() }
}

test('a streamed body produces nothing for a client that never reads, and disconnects it', async () => {
  const { of } = numbered({ maxStallMs: 20 })

  await waitFor('the end', () => of.released === 1)
  expect(of).toEqual({ made: 0, released: 1, disconnected: 1 })
})

test('a streamed body disconnects a client that stops reading', async () => {
  const { of, reader } = numbered({ maxStallMs: 20 })
  await reader.read()
  await reader.read()

  await waitFor('the end', () => of.released === 1)
  expect(of).toEqual({ made: 2, released: 1, disconnected: 1 })
})

test('a streamed body disconnects a slow client at its time limit', async () => {
  const { of, reader } = numbered({ maxStallMs: 10_000, maxMs: 30 })

  await waitFor('the end', async () => {
    if (of.released === 0) await reader.read()
    return of.released === 1
  })
  expect(of.disconnected).toBe(1)
})

test('a streamed body does not disconnect a client that leaves or has read everything', async () => {
  const left = numbered({ maxStallMs: 20 })
  await left.reader.read()
  await left.reader.cancel()
  const read = numbered({ maxStallMs: 20 }, 2)
  while (!(await read.reader.read()).done);

  await waitFor('the ends', () => left.of.released === 1 && read.of.released === 1)
  expect([left.of.disconnected, read.of.disconnected]).toEqual([0, 0])
})
