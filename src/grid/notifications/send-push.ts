/**
 * Sends one notification to the push service of a browser. The library encrypts and signs it (RFC 8291, RFC 8292); the
 * request goes through `safeFetch`, because users name the address. See docs/security.md, "Notifications".
 */
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import type { SafeResponse } from '../../lib/outbound/safe-fetch.ts'
import { day, hour, second } from '../../lib/time.ts'
import type { PushSubscription } from '../../store/account/notifications.ts'
import type { Store } from '../../store/store.ts'
import { loadLibrary, readPushKey } from './push-key.ts'

/** What the service worker of the browser shows. It has no text of a message. */
export interface Notification {
  title: string
  body: string
  /** One with the same tag takes its place. */
  tag: string
  /** What a click opens: a path of this grid. */
  path: string
}

/**
 * What became of it.
 *
 * * `sent`: the push service has accepted it
 * * `gone`: the push service does not know the browser any more
 * * `later`: it can be tried again, after `afterMs` if the push service says so
 * * `failed`: it would fail again
 */
export type PushResult = { outcome: 'sent' | 'gone' | 'failed' } | { outcome: 'later'; afterMs?: number }

const timeoutMs = 10 * second
/** How long a push service keeps it for a browser that is not connected. */
const keptSeconds = day / second
/** A push service that asks for more is tried again after this time. */
const maxRetryAfterMs = hour
const maxAnswerBytes = 16 * 1024

/** Send a notification. Fails with `internal` if the private key does not open. */
export async function sendPush(
  store: Store,
  { endpoint, p256dh, auth }: Pick<PushSubscription, 'endpoint' | 'p256dh' | 'auth'>,
  notification: Notification,
  signal?: AbortSignal,
): Promise<PushResult> {
  const { config, now, safeFetch } = store.deps
  const key = await readPushKey(store)
  if (!key) return { outcome: 'failed' }
  const { generateRequestDetails } = await loadLibrary()
  const subject = config.mailFrom === undefined ? contactUrl(config.appUrl) : `mailto:${config.mailFrom}`
  const request = encrypted()
  if (!request) return { outcome: 'failed' }
  try {
    const response = await safeFetch(endpoint, {
      ...request,
      timeoutMs,
      maxBytes: maxAnswerBytes,
      signal,
    })
    return resultOf(response, now())
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error
    return { outcome: error.reason === 'refused' || error.reason === 'redirected' ? 'failed' : 'later' }
  }

  function encrypted(): { body: Uint8Array; headers: Record<string, string> } | undefined {
    try {
      const { headers, body } = generateRequestDetails(
        { endpoint, keys: { p256dh, auth } },
        JSON.stringify(notification),
        { vapidDetails: { subject, ...key! }, TTL: keptSeconds, urgency: 'high', contentEncoding: 'aes128gcm' },
      )
      const { 'Content-Length': _length, 'Content-Type': _type, ...others } = headers
      const texts = Object.entries(others).map(([name, value]) => [name, String(value)])
      return { body: new Uint8Array(body!), headers: Object.fromEntries(texts) }
    } catch {
      // The key of the browser is no point on the curve.
      return undefined
    }
  }
}

/** @see RFC 8030 §5, §7.3 and §8.4 */
function resultOf({ status, header }: SafeResponse, at: number): PushResult {
  if (status < 300) return { outcome: 'sent' }
  if (status === 404 || status === 410) return { outcome: 'gone' }
  if (status !== 429 && status < 500) return { outcome: 'failed' }
  return { outcome: 'later', afterMs: retryAfterMs(header('retry-after'), at) }
}

/** @see RFC 9110 §10.2.3 */
function retryAfterMs(value: string | undefined, at: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * second : Date.parse(value) - at
  return Number.isFinite(ms) ? Math.max(0, Math.min(ms, maxRetryAfterMs)) : undefined
}

/** Push services want an HTTPS address or an email address, to ask about the sender. A grid for one machine has neither. */
function contactUrl(appUrl: string): string {
  return appUrl.startsWith('https:') ? appUrl : 'https://agent-grid.invalid'
}
