/** Signatures of outgoing webhooks. @see https://www.standardwebhooks.com */
import { Buffer } from 'node:buffer'
import { Webhook } from 'standardwebhooks'

export function newWebhookSecret(): string {
  return `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`
}

/** The headers of one event, signed with each secret. `at` is in milliseconds. */
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
