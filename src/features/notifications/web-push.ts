/**
 * The cryptography of Web Push: keys of a sender (RFC 8292), and messages that only one browser can read (RFC 8291). The
 * library sends nothing; requests go through `safeFetch`. See docs/security.md, "Outgoing requests".
 */
import { once } from '../../lib/lazy.ts'

/** A VAPID key pair, each key in base64url. */
export interface PushKey {
  publicKey: string
  privateKey: string
}

/** A browser, as its push service and the browser itself know it. Keys are in base64url. */
export interface PushTarget {
  endpoint: string
  p256dh: string
  auth: string
}

export async function newPushKey(): Promise<PushKey> {
  return (await library()).generateVAPIDKeys()
}

/**
 * The headers and the body of the request that sends `text` to a browser. `contact` is the email address (`mailto:`) or
 * the HTTPS address of the sender; a push service that cannot deliver it keeps it for `ttlSeconds`. Undefined if the keys
 * of the browser are not valid.
 */
export async function pushRequest(
  { endpoint, p256dh, auth }: PushTarget,
  text: string,
  { key, contact, ttlSeconds }: { key: PushKey; contact: string; ttlSeconds: number },
): Promise<{ headers: Record<string, string>; body: Uint8Array } | undefined> {
  const { generateRequestDetails } = await library()
  try {
    const { headers, body } = generateRequestDetails({ endpoint, keys: { p256dh, auth } }, text, {
      vapidDetails: { subject: contact, ...key },
      TTL: ttlSeconds,
      urgency: 'high',
      contentEncoding: 'aes128gcm',
    })
    const names = Object.keys(headers).filter((name) => !['Content-Length', 'Content-Type'].includes(name))
    return {
      headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
      body: new Uint8Array(body!),
    }
  } catch {
    // For example, the key of the browser is no point on the curve.
    return undefined
  }
}

/** Loaded with the first use: most processes never send a notification. */
const library = once(async () => (await import('web-push')).default)
