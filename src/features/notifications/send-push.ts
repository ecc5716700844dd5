/** Requests to browsers' push services, and the key pair that signs them. See docs/security.md, "Outgoing requests". */
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import type { SafeResponse } from '../../lib/outbound/safe-fetch.ts'
import { day, hour, second } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import { allNotifications } from './store.ts'
import { newPushKey, type PushKey, pushRequest, type PushTarget } from './web-push.ts'

const id = 'vapid'

/**
 * Returns the public key for browser subscriptions, in base64url. Creates the key pair if there is none or its
 * encryption key was lost. Concurrent processes get the same key. Fails with `invalid_input` without encryption keys.
 */
export async function publicPushKey(store: Store): Promise<string> {
  const notifications = store.feature(allNotifications)
  const known = await notifications.pushKey(id)
  if (known && store.keyRing.ids.includes(known.tokenKeyId)) return known.publicKey
  const { publicKey, privateKey } = newPushKey()
  const sealed = await store.seal('push_keys', id, privateKey)
  await store.write([
    notifications.addPushKey(id, publicKey, sealed, known?.tokenKeyId ?? null, store.deps.now()),
  ])
  return (await notifications.pushKey(id))!.publicKey
}

/** The key pair. Undefined until a browser has subscribed. Fails with `internal` if its encryption key is missing. */
async function readPushKey(store: Store): Promise<PushKey | undefined> {
  const stored = await store.feature(allNotifications).pushKey(id)
  if (!stored) return undefined
  return { publicKey: stored.publicKey, privateKey: await store.open('push_keys', id, stored) }
}

/** A notification as the service worker shows it. It contains no message text. */
interface Notification {
  title: string
  body: string
  tag: string
  path: string
}

/** `gone`: the push service no longer knows the browser. `later`: the request can be retried. */
export type PushResult = { outcome: 'sent' | 'gone' | 'failed' } | { outcome: 'later'; afterMs?: number }

const timeoutMs = 10 * second
/** How long a push service stores a notification for a disconnected browser. */
const keptSeconds = day / second
const maxRetryAfterMs = hour
const maxAnswerBytes = 16 * 1024

/** Sends a notification. Fails with `internal` if the private key cannot be decrypted. */
export async function sendPush(
  store: Store,
  browser: PushTarget,
  notification: Notification,
  signal?: AbortSignal,
): Promise<PushResult> {
  const { config, now, safeFetch } = store.deps
  const key = await readPushKey(store)
  if (!key) return { outcome: 'failed' }
  const contact = config.mailFrom === undefined ? contactUrl(config.appUrl) : `mailto:${config.mailFrom.address}`
  const message = { key, contact, ttlSeconds: keptSeconds, now: now() }
  const request = await pushRequest(browser, JSON.stringify(notification), message)
  if (!request) return { outcome: 'failed' }
  try {
    const { endpoint } = browser
    return resultOf(await safeFetch(endpoint, { ...request, timeoutMs, maxBytes: maxAnswerBytes, signal }), now())
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error
    return { outcome: error.reason === 'refused' || error.reason === 'redirected' ? 'failed' : 'later' }
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

/** The sender's contact URL, which push services require to be HTTPS. A grid without HTTPS sends a placeholder. */
function contactUrl(appUrl: string): string {
  return appUrl.startsWith('https:') ? appUrl : 'https://agent-grid.invalid'
}
