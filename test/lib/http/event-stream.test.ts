import { expect, onTestFinished, test, vi } from 'vitest'
import { CallerConnection } from '../../../src/lib/http/caller-connection.ts'
import { event, eventStream, heartbeat, retryHint } from '../../../src/lib/http/event-stream.ts'
import { eventReader } from '../../support/events.ts'
import { turn, waitFor } from '../../support/wait-for.ts'

/** Returns an event stream of numbers, and its observed state. */
function numbers(maxStallMs?: number) {
  const connection = new CallerConnection(new Request('http://grid.example/'))
  const of = { made: 0, hasEnded: false, connection }
  async function* frames(): AsyncGenerator<string> {
    try {
      for (;;) yield `${++of.made}\n`
    } finally {
      of.hasEnded = true
    }
  }
  const response = eventStream(frames(), connection, { maxStallMs })
  return { of, reader: response.body!.pipeThrough(new TextDecoderStream()).getReader() }
}

test('an event stream produces frames only as fast as the client reads them', async () => {
  const { of, reader } = numbers()
  for (let n = 1; n <= 20; n++) expect((await reader.read()).value).toBe(`${n}\n`)

  // The stream and the decoder each buffer some frames, so more frames were made than read.
  expect(of.made).toBeLessThan(25)
  await reader.cancel()
  await waitFor('the end', () => of.hasEnded && of.connection.signal.aborted)
})

test('an event stream disconnects a client that reads nothing for too long', async () => {
  const { of, reader } = numbers(20)
  await reader.read()
  await waitFor('the end', () => of.hasEnded && of.connection.signal.aborted)

  const readAll = async () => {
    while (!(await reader.read()).done);
  }
  await expect(readAll()).rejects.toThrow('too long')
})

test('an event stream does not wait for a client that leaves while a frame is produced', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let make = (_frame: string) => {}
  let begin = () => {}
  const made = new Promise<string>((resolve) => make = resolve)
  const begun = new Promise<void>((resolve) => begin = resolve)
  async function* frames(): AsyncGenerator<string> {
    begin()
    yield await made
  }
  const connection = new CallerConnection(new Request('http://grid.example/'))
  const reader = eventStream(frames(), connection, { maxStallMs: 20 }).body!.getReader()
  const reading = reader.read()
  await begun
  const leaving = reader.cancel()
  make('1\n')
  await Promise.all([reading, leaving])

  expect(vi.getTimerCount()).toBe(0)
})

test.each([undefined, 5])(
  'an error in the cleanup of an event stream is caught (stall after %s ms)',
  async (maxStallMs) => {
    let hasEnded = false
    async function* frames(): AsyncGenerator<string> {
      try {
        for (;;) yield 'x\n'
      } finally {
        hasEnded = true
        await Promise.reject(new Error('It could not clean up.'))
      }
    }
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const connection = new CallerConnection(new Request('http://grid.example/'))
    const reader = eventStream(frames(), connection, { maxStallMs }).body!.getReader()
    await reader.read()
    if (maxStallMs === undefined) void reader.cancel()
    await waitFor('the end', () => hasEnded)
    await turn()

    expect(unhandled).toEqual([])
  },
)

test('an event stream never dispatches an event for a comment or retry hint, even after an id', () => {
  const eventIn = eventReader()
  const text = retryHint + heartbeat + event('1', undefined, 1) + heartbeat + retryHint + event('2', 'named')

  expect(text.split('\n').slice(0, -1).map(eventIn).filter((found) => found !== undefined)).toEqual([
    'retry: 15000',
    ': heartbeat',
    'id: 1\ndata: 1',
    ': heartbeat',
    'retry: 15000',
    'event: named\ndata: 2',
  ])
})
