/** Calls a service that the account operates itself. */
import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import * as z from 'zod'
import { newId } from '../../lib/id.ts'
import { second } from '../../lib/time.ts'
import { httpUrl, provider, ProviderFailure, RefusedConfig } from '../provider.ts'
import { ask, kindsOf } from './ask.ts'

const reviewed = z.object({
  decision: z.enum(['allow', 'flag', 'redact', 'block']),
  reasons: z.array(z.string()).default([]),
  /** The text to deliver instead. It must not contain U+0000, like any message. */
  redacted: z.string().min(1).refine((text) => !text.includes('\0')).optional(),
})

/** Sends a signed `POST`. Every decision except `allow` is an objection. See docs/protocol/guardrails.md, "Webhook". */
export const webhook = provider({
  id: 'webhook',
  name: 'Webhook',
  kind: 'remote',
  address: 'url',
  description: 'Asks your own service. Requests are signed according to Standard Webhooks.',
  config: {
    url: httpUrl,
  },
  needsToken: true,
  checkToken(token) {
    if (!keyOf(token)) throw new RefusedConfig('token', wrongSecret)
  },
  prepare(config) {
    const url = new URL(config.url)

    return async (guarded, tools) => {
      const key = keyOf(tools.token ?? '')
      if (!key) throw new ProviderFailure('wrong_token', wrongSecret)
      const { text, direction, sender, recipient } = guarded
      // Both attempts have the same id, so that the service can recognize the retry.
      const id = `msg_${newId()}`
      const { answer, raw } = await ask(tools, {
        url,
        body: {
          type: 'guardrail.check',
          timestamp: new Date(tools.now()).toISOString(),
          data: { text, direction, sender, recipient },
        },
        headers: (body) => signed(key, id, Math.floor(tools.now() / second), body),
        answer: reviewed,
        // Large enough for `redacted` with the longest allowed text.
        maxBytes: 512 * 1024,
      })
      if (answer.decision === 'allow') return { kinds: [], raw }
      const kinds = answer.reasons.length > 0 ? answer.reasons : ['objection of the service']
      return {
        kinds: kindsOf(kinds, 'objection of the service'),
        replacement: answer.redacted?.toWellFormed(),
        raw,
      }
    }
  },
})

const wrongSecret = 'The signing secret of a webhook is whsec_ and the base64 of 24 to 64 random bytes.'

function keyOf(secret: string): Buffer | undefined {
  const [, base64] = secret.match(/^whsec_([A-Za-z0-9+/]+={0,2})$/) ?? []
  if (base64 === undefined) return undefined
  const key = Buffer.from(base64, 'base64')
  return key.length >= 24 && key.length <= 64 ? key : undefined
}

/** @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function signed(key: Buffer, id: string, timestamp: number, body: string): Record<string, string> {
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  }
}
