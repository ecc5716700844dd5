/**
 * Requests that push an event to a task's client. See docs/protocol/a2a.md, "Push notifications". @see A2A 1.0 §4.3.3
 */
import { createHash } from 'node:crypto'
import { Buffer } from 'node:buffer'
import { GridError } from '../errors.ts'
import type { OutboxAttempt } from '../grid/outboxes/attempt.ts'
import { pushEvents, type PushNotice, type SendNotice } from '../grid/tasks/push-events.ts'
import { newId } from '../lib/id.ts'
import { minute, second } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { Signer } from './cards/signing.ts'
import { codec03 } from './codec-03.ts'
import { codec10 } from './codec-10.ts'
import { writeTask } from './codec.ts'

const timeoutMs = 15 * second
const jwtLifetimeMs = 5 * minute

/** Creates the requests of webhook outboxes. */
export function pushAttempt(store: Store): OutboxAttempt {
  const signer = new Signer(store)
  const { config: { baseUrl }, now, safeStream } = store.deps

  const send: SendNotice = async ({ account, signal }, notice) => {
    const { config: { id, url, version }, event, token } = notice
    const is03 = version === '0.3'
    const body = JSON.stringify(
      is03 ? writeTask(await notice.taskThen(), codec03) : codec10.writeEvent(notice.task, event, false),
    )
    const authorization = await authorizationOf(notice, body)
    const noticeId = `${id}.${event.n}`
    const response = await safeStream(url, {
      method: 'POST',
      body,
      contentType: is03 ? 'application/json' : 'application/a2a+json',
      headers: {
        'A2A-Version': version,
        'A2A-Notification-Id': noticeId,
        'Idempotency-Key': noticeId,
        ...(authorization !== undefined && { Authorization: authorization }),
        ...(token !== undefined && { 'X-A2A-Notification-Token': token }),
      },
      timeoutMs,
      signal,
      spans: account.trace.spans,
      // The response body is not read.
      maxBytes: Infinity,
    })
    await response.body?.cancel()
    return response.status
  }

  /** Returns the `Authorization` header. Bearer without credentials uses a token signed by the grid. */
  async function authorizationOf(
    { config: { scheme, url, taskId }, credentials }: PushNotice,
    body: string,
  ): Promise<string | undefined> {
    if (scheme === null) return undefined
    if (credentials !== undefined) return `${scheme} ${credentials}`
    if (scheme.toLowerCase() !== 'bearer') return undefined
    const { signAt } = await signer.keys()
    if (!signAt) throw new GridError('unavailable', 'This grid has no key to sign with.')
    const claims = JSON.stringify({
      iss: baseUrl,
      aud: new URL(url).origin,
      iat: Math.floor(now() / second),
      exp: Math.floor((now() + jwtLifetimeMs) / second),
      jti: newId(),
      taskId,
      request_body_sha256: createHash('sha256').update(body).digest('hex'),
    })
    const sign = await signAt(baseUrl)
    const { protected: header, signature } = await sign(claims, 'JWT')
    return `${scheme} ${header}.${Buffer.from(claims).toString('base64url')}.${signature}`
  }

  return (attempt) => pushEvents(attempt, send)
}
