/**
 * Cryptography for Web Push: sender keys (RFC 8292), and messages that only one browser can read (RFC 8291). Requests
 * go through `safeFetch`. See docs/security.md, "Outgoing requests".
 */
import { Buffer } from 'node:buffer'
import { createECDH } from 'node:crypto'
import { once } from '../../lib/lazy.ts'
import { hour, second } from '../../lib/time.ts'

/** A VAPID key pair with keys in base64url: an uncompressed P-256 point, and 32 bytes. */
export interface PushKey {
  publicKey: string
  privateKey: string
}

/** A browser's subscription. Keys are in base64url. */
export interface PushTarget {
  endpoint: string
  p256dh: string
  auth: string
}

const curve = 'prime256v1'
/** How long a request's signature is valid. At most 24 hours. @see RFC 8292 §2 */
const signedMs = 12 * hour

export function newPushKey(): PushKey {
  const pair = createECDH(curve)
  const publicKey = pair.generateKeys('base64url')
  // Pads the key, because the library omits leading zeros.
  const privateKey = pair.getPrivateKey('hex').padStart(64, '0')
  return { publicKey, privateKey: Buffer.from(privateKey, 'hex').toString('base64url') }
}

/**
 * Returns the headers and body of the request that sends `text` to a browser. `contact` is the sender's email address
 * (`mailto:`) or HTTPS URL. The push service stores an undeliverable message for `ttlSeconds`. Undefined if the
 * browser's keys are invalid.
 */
export async function pushRequest(
  { endpoint, p256dh, auth }: PushTarget,
  text: string,
  { key, contact, ttlSeconds, now }: { key: PushKey; contact: string; ttlSeconds: number; now: number },
): Promise<{ headers: Record<string, string>; body: Uint8Array } | undefined> {
  const [{ default: ece }, { importJWK, SignJWT }] = await libraries()
  const ofMessage = createECDH(curve)
  ofMessage.generateKeys()
  let body: Uint8Array
  try {
    body = ece.encrypt(Buffer.from(text), { version: 'aes128gcm', dh: p256dh, authSecret: auth, privateKey: ofMessage })
  } catch {
    // The browser's key may not be a point on the curve, for example.
    return undefined
  }
  const token = await new SignJWT()
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(new URL(endpoint).origin)
    .setExpirationTime(Math.floor((now + signedMs) / second))
    .setSubject(contact)
    .sign(await importJWK(jwkOf(key), 'ES256'))
  return {
    headers: {
      TTL: String(ttlSeconds),
      Urgency: 'high',
      'Content-Encoding': 'aes128gcm',
      Authorization: `vapid t=${token}, k=${key.publicKey}`,
    },
    body,
  }
}

/** @see RFC 7518 §6.2 */
function jwkOf({ publicKey, privateKey }: PushKey) {
  const [x, y] = [[1, 33], [33, 65]].map(([from, to]) =>
    Buffer.from(publicKey, 'base64url').subarray(from, to).toString('base64url')
  )
  return { kty: 'EC', crv: 'P-256', x, y, d: privateKey }
}

/** Loaded on first use, because most processes never send a notification. */
const libraries = once(() => Promise.all([import('http_ece'), import('jose')]))
