/** Webhook signatures. @see https://www.standardwebhooks.com */
import { Buffer } from 'node:buffer'
import { Webhook } from 'standardwebhooks'
import { isSameSecret } from '../secrets.ts'
import { minute, second } from '../time.ts'

/** Maximum difference between the clocks of a signed request's sender and this machine, in both directions. */
const maxAgeMs = 5 * minute

/** The header with the number of answers that led to an event's message. An incoming hook continues the count. */
export const hopsHeader = 'agent-grid-hops'

export function newWebhookSecret(): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`
}

/** Returns an event's headers, signed with each secret. `at` is in milliseconds. */
export function webhookHeaders(
  secrets: readonly string[],
  id: string,
  at: number,
  body: string,
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body)).join(' '),
  }
}

/** Whether a secret has the format of Standard Webhooks. */
export function isWebhookSecret(secret: string): boolean {
  return /^(whsec_)?[A-Za-z0-9+/]{16,}={0,2}$/.test(secret)
}

/** Whether a request is signed with the secret. `now` is in milliseconds. */
export function isSignedWebhook(secret: string, headers: Headers, body: string, now: number): boolean {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    headers.get(`webhook-${name}`) ?? ''
  )
  const at = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * second : NaN
  if (!isWebhookSecret(secret) || id === '' || !(Math.abs(now - at) <= maxAgeMs)) return false
  const expected = new Webhook(secret).sign(id, new Date(at), body)
  return signatures.split(' ').some((given) => isSameSecret(given, expected))
}
