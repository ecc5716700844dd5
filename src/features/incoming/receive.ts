/** Turns external programs' posts to a hook's URL into messages. See docs/protocol/incoming.md. */
import { createHmac } from 'node:crypto'
import { GridError } from '../../errors.ts'
import { sendMessage } from '../../grid/messaging/send-message.ts'
import { digestOf } from '../../lib/digest.ts'
import { apiLimits, parseBody } from '../../lib/http/body.ts'
import { addressOf } from '../../lib/http/client-address.ts'
import { type CallLimit, minuteLimit } from '../../lib/limits/call-limits.ts'
import { hopsHeader, isSignedWebhook } from '../../lib/outbound/webhook-signature.ts'
import { hashForLookup, isSameSecret } from '../../lib/secrets.ts'
import { hasAtMost } from '../../lib/text.ts'
import type { Handler } from '../../request-context.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { type HookDelivery, type HookRow, incomingLookUps, incomingTables } from './store.ts'
import { maxTextLength, textOfPayload } from './template.ts'

/** Allows many JSON tokens, because GitHub's payloads contain many small values. */
const bodyLimits = { ...apiLimits, maxTokens: 20_000 }

/**
 * Responds with 200 and `message_id` once the message is on disk, or with 200 and `ignored`. An unknown URL gets 404,
 * and its body is not read.
 */
export function incomingPost(store: Store, refusedKeys: CallLimit): Handler {
  const { bodies, config, now } = store.deps
  const limitOf = (name: string, perMinute: number, whose: string) =>
    minuteLimit(name, perMinute, {
      what: `Too many requests: ${perMinute} a minute are accepted for ${whose}.`,
      advice: 'Send it again',
    })
  const ofHook = limitOf('incoming-hook', 60, 'this address')
  const ofAccount = limitOf('incoming-account', 600, 'all hooks of an account')

  return async function incomingPost(c) {
    const found = await findHook(store, c.req.param('token')!)
    if (!found) {
      refusedKeys.count(addressOf(c, config), now())
      throw new GridError('not_found', 'This address is unknown or was revoked.')
    }
    const { account, hook } = found
    c.get('trace').account = account.trace
    ofHook.count(hook.id, now())
    ofAccount.count(account.owner, now())
    const { change } = account.feature(incomingTables)
    // If the delivery cannot be recorded, the response is sent anyway.
    const record = (outcome: string) =>
      account.write([change.delivered(hook.id, { at: now(), outcome })]).catch(() => {})
    try {
      const body = await bodies.readText(c.req.raw, bodyLimits)
      const message = await take(account, hook, c.req.raw.headers, body)
      if (message === undefined) await record('ignored')
      return Response.json(message === undefined ? { ignored: true } : { message_id: message })
    } catch (error) {
      if (error instanceof GridError) await record(error.code)
      throw error
    }
  }
}

async function findHook(store: Store, token: string) {
  if (!/^[0-9A-Za-z]{43}$/.test(token)) return undefined
  const found = await store.feature(incomingLookUps).byToken(hashForLookup(token))
  if (!found) return undefined
  const system = store.account(found.owner, { type: 'system', job: 'incoming' })
  const hook = await system.feature(incomingTables).read.byId(found.id)
  // A hook acts as its agent and never as a person, because only programs use hooks.
  return hook && {
    hook,
    account: store.account(found.owner, {
      ...{ type: 'agent', agentId: hook.agentId, alias: hook.alias, credentialId: `hook ${hook.id}` },
      isUnlimited: true,
    }),
  }
}

/**
 * Resolves to the message's id; undefined if the event has no text. Fails like `sendMessage`, or with
 * `unauthenticated`.
 */
async function take(
  account: AccountStore,
  hook: HookRow,
  headers: Headers,
  body: string,
): Promise<string | undefined> {
  await requireSigned(account, hook, headers, body)
  if (hook.recipient === null) throw new GridError('recipient_not_found', 'The recipient of this hook was deleted.')
  const payload = payloadOf(headers, body)
  const text = payload === undefined ? body : textOfPayload(hook, payload.value, headers.get('x-github-event'))
  if (text === undefined) return undefined
  if (!hasAtMost(text, maxTextLength)) {
    throw new GridError('message_too_long', `A text can have at most ${maxTextLength.toLocaleString('en')} characters.`)
  }
  const { now } = account.deps
  const { delivered } = account.feature(incomingTables).change
  const delivery = ['x-github-delivery', 'webhook-id', 'idempotency-key'].map((name) => headers.get(name)).find(Boolean)
  const sender = { agentId: hook.agentId, alias: hook.alias, isUnlimited: true }
  const { id } = await sendMessage(account, sender, {
    to: hook.recipient,
    text,
    via: 'hook',
    hops: hopsOf(headers),
    ...(payload !== undefined && { parts: [{ data: payload.value, mediaType: 'application/json' }] }),
    // A retry is compared by its delivery id, because its text may contain the time of the attempt.
    ...(delivery && { idempotencyKey: `hook:${digestOf(delivery)}`, request: delivery }),
    concern: {
      plan: ({ message }) => {
        const outcome: HookDelivery = { at: now(), outcome: message.held ? 'held' : 'sent', message: message.id }
        return {
          needsMessage: true,
          statements: [delivered(hook.id, outcome), account.change.agents.markSeen(hook.agentId, now())],
        }
      },
    },
  })
  return id
}

/** If the hook has a secret, fails with `unauthenticated` unless the request is signed. */
async function requireSigned(account: AccountStore, { id }: HookRow, headers: Headers, body: string): Promise<void> {
  const sealed = await account.feature(incomingTables).read.sealed(id)
  if (!sealed) return
  const secret = await account.open('incoming_hooks', id, sealed)
  const isSigned = headers.has('x-hub-signature-256')
    ? isSignedByGithub(secret, headers.get('x-hub-signature-256')!, body)
    : isSignedWebhook(secret, headers, body, account.deps.now())
  if (!isSigned) throw new GridError('unauthenticated', 'The signature is missing, invalid or too old.')
}

/** Checks a GitHub signature. @see https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
function isSignedByGithub(secret: string, given: string, body: string): boolean {
  return isSameSecret(given, `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
}

/** Returns JSON, or undefined for text. `curl -d` labels JSON as a form, and GitHub can send JSON in a form field. */
function payloadOf(headers: Headers, body: string): { value: unknown } | undefined {
  const type = headers.get('content-type') ?? ''
  if (/^application\/([\w.-]+\+)?json\b/i.test(type)) return { value: parseBody(body, bodyLimits) }
  const isForm = type.startsWith('application/x-www-form-urlencoded')
  const text = isForm && body.startsWith('payload=') ? new URLSearchParams(body).get('payload')! : body
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return { value: parseBody(text, bodyLimits) }
  } catch {
    return undefined
  }
}

/** Returns the hop count: one more than the count of the webhook event that caused the request, or 0 without one. */
function hopsOf(headers: Headers): number {
  const given = headers.get(hopsHeader) ?? ''
  return /^\d{1,4}$/.test(given) ? Number(given) + 1 : 0
}
