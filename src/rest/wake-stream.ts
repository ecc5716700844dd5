/** `GET /api/agents/wake-stream`: tells an agent's runner that mail waits. Signals only; the mail is read with `read_messages`. */
import type { Bearer } from '../auth/bearer.ts'
import { GridError } from '../errors.ts'
import { listenForMail, type Signal } from '../grid/messaging/waiting.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'
import { Departure, event, eventStream, heartbeat, retryHint } from '../lib/event-stream.ts'
import { second } from '../lib/time.ts'

const heartbeatMs = 15 * second

/** Unnamed, because clients listen with `onmessage`. */
const wake = event('wake')

/**
 * Fails with `unauthenticated`, `wrong_credential` (no agent key), `method_not_allowed` or
 * `rate_limit_exceeded` (the credential has its three streams).
 *
 * grid.md, section 3. Security A10.
 */
export function wakeStream(authenticate: Bearer) {
  return async function wakeStream(request: Request): Promise<Response> {
    if (request.method === 'OPTIONS') return preflight('GET, OPTIONS')
    const authorization = request.headers.get('authorization')
    const account = await authenticate(authorization)
    const check = () => authenticate(authorization, account)
    // Hono answers HEAD with this handler and drops the body: a stream that nobody could end.
    if (request.method !== 'GET') throw new GridError('method_not_allowed', 'Open the wake stream with GET.')

    const departure = new Departure(request)
    const signals = listenForMail(account, { heartbeatMs, check, departure })
    if (signals) return eventStream(wakeFrames(signals), departure, corsHeaders)
    throw new GridError('rate_limit_exceeded', 'This key has 3 open streams. Close one of them first.', {
      retryAfterSeconds: 15,
    })
  }
}

async function* wakeFrames(signals: AsyncGenerator<Signal>): AsyncGenerator<string> {
  let opening = retryHint
  for await (const signal of signals) {
    yield opening + (signal === 'mail' ? wake : heartbeat)
    opening = ''
  }
}
