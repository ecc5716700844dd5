/**
 * Event streams of the MCP door besides the SDK's: the legacy GET stream, and answers that come so late that the
 * connection must be kept alive. MCP 2025-11-25, "Streamable HTTP".
 */
import { GridError } from '../errors.ts'
import { maxWaitSeconds, type Signal } from '../grid/messaging/waiting.ts'
import { corsHeaders } from '../lib/cors.ts'
import { type Departure, event, eventStream, heartbeat, retryHint } from '../lib/event-stream.ts'
import { heartbeatMs, maxSilentSeconds, type Offer } from './toolset.ts'
import { inboxUri } from './resources.ts'
import { sendOut } from './tool.ts'

const inboxUpdated = event(
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: inboxUri } }),
  'message',
)

/**
 * Tells a legacy client that its inbox changed, whether or not it subscribed: there are no sessions to remember it.
 * Fails with `method_not_allowed`, also when the credential has its streams: a client whose stream was closed
 * instead would open it again every second.
 */
export function inboxStream({ headers }: Request, { inbox }: Offer): Response {
  const signals = headers.get('accept')?.includes('text/event-stream') ? inbox?.listen() : undefined
  if (!inbox || !signals) {
    throw new GridError(
      'method_not_allowed',
      inbox
        ? 'Send MCP messages with POST. GET opens an event stream with Accept: text/event-stream, up to 3 per credential.'
        : 'Send MCP messages with POST; there is no event stream here.',
    )
  }
  return eventStream(inboxFrames(signals), inbox.departure, corsHeaders)
}

async function* inboxFrames(signals: AsyncGenerator<Signal>): AsyncGenerator<string> {
  let opening = retryHint + heartbeat
  for await (const signal of signals) {
    yield opening + (signal === 'mail' ? inboxUpdated : heartbeat)
    opening = ''
  }
}

/** Whether a message asks for a longer wait than an answer in one piece may take. */
export function waitsLong(message: unknown): boolean {
  const { params } = message as { params?: { name?: unknown; arguments?: { wait_seconds?: unknown } } }
  const seconds = params?.arguments?.wait_seconds
  return params?.name === 'read_messages' && typeof seconds === 'number' &&
    seconds > maxSilentSeconds && seconds <= maxWaitSeconds
}

/** An answer as the only event of a stream that shows life until it comes. */
export function lateAnswer(answer: Promise<object>, handOuts: Offer['handOuts'], departure: Departure): Response {
  return eventStream(lateFrames(answer, handOuts, departure), departure, corsHeaders)
}

async function* lateFrames(
  answer: Promise<object>,
  handOuts: Offer['handOuts'],
  departure: Departure,
): AsyncGenerator<string> {
  let isOnItsWay = false
  try {
    yield heartbeat
    while (!await comesWithin(heartbeatMs, answer)) yield heartbeat
    const message = event(JSON.stringify(await answer), 'message')
    if (departure.signal.aborted) return
    sendOut(handOuts, departure)
    isOnItsWay = true
    yield message
  } finally {
    // Handed out to somebody who has left, perhaps before the last heartbeat was taken.
    if (!isOnItsWay) {
      await answer
      await Promise.all(handOuts.map((handOut) => handOut.giveBack()))
    }
  }
}

async function comesWithin(ms: number, coming: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  return await Promise.race([coming.then(() => true), late]).finally(() => clearTimeout(timer))
}
