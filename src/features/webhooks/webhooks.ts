/** Manages the account's webhooks, for owners and admins. See docs/protocol/webhooks.md. */
import { requireAdmin, requireConfirmed } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { requireAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import { newWebhookSecret } from '../../lib/outbound/webhook-signature.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { isTaken, sendEvent, type WebhookServer } from './send-event.ts'
import { maxWebhooks, type WebhookAnswer, type WebhookRow, webhookTables } from './store.ts'

export const webhookEvents = ['message', 'task', 'held', 'attention', 'backup'] as const

export interface Webhook extends Omit<WebhookRow, 'events' | 'answers'> {
  events: string[]
  answers: WebhookAnswer[]
}

/** The sealed secrets. The previous one also signs until `previousUntil`, in milliseconds since the epoch. */
interface Secrets {
  secret: string
  previous?: string
  previousUntil?: number
}

export async function listWebhooks(account: AccountStore): Promise<Webhook[]> {
  requireAdmin(account.actor)
  const found = await account.feature(webhookTables).read.list()
  return found.map((row) => ({ ...row, events: JSON.parse(row.events), answers: JSON.parse(row.answers) }))
}

/**
 * Creates a webhook. Only this call returns the secret. Requires a confirmed identity, because it sends events to an
 * external server. Fails with `invalid_input` or `confirmation_required`.
 */
export async function createWebhook(
  account: AccountStore,
  input: { url: string; events: readonly string[] },
): Promise<{ id: string; secret: string }> {
  requireAdmin(account.actor)
  const url = requireAllowedTarget(input.url, account.deps.config, 'url')
  if (isOwnAddress(account, url)) {
    throw invalidInput('url is an address of this grid. Events would be sent back to it.', 'url')
  }
  const events = webhookEvents.filter((name) => input.events.includes(name))
  if (events.length === 0) throw invalidInput('Choose at least one event.', 'events')
  requireConfirmed(account.actor, account.deps.now())
  const id = newId()
  const secret = newWebhookSecret()
  const sealed = await seal(account, id, { secret })
  const [added] = await account.write([
    account.feature(webhookTables).change.add(id, url, events, sealed, account.deps.now()),
  ])
  if (added.length === 0) throw tooMany()
  return { id, secret }
}

function isOwnAddress({ deps: { config } }: AccountStore, url: string): boolean {
  const { baseUrl, appUrl, extraBaseUrls } = config
  return [baseUrl, appUrl, ...extraBaseUrls].some((own) => new URL(own).host === new URL(url).host)
}

function tooMany(): GridError {
  return invalidInput(`An account can have at most ${maxWebhooks} webhooks.`, 'url')
}

/** Replaces the secret. For 24 hours, events are also signed with the old one. */
export async function rotateWebhook(account: AccountStore, id: string): Promise<{ secret: string }> {
  requireAdmin(account.actor)
  const { secret: previous } = await secretsOf(account, id)
  const secret = newWebhookSecret()
  const sealed = await seal(account, id, { secret, previous, previousUntil: account.deps.now() + day })
  await account.write([account.feature(webhookTables).change.rotate(id, sealed)])
  return { secret }
}

/** Pauses a webhook. No events are recorded for it until it is resumed. */
export async function pauseWebhook(account: AccountStore, id: string): Promise<void> {
  requireAdmin(account.actor)
  await secretsOf(account, id)
  await account.write([account.feature(webhookTables).change.pause(id, account.deps.now())])
}

export async function resumeWebhook(account: AccountStore, id: string): Promise<void> {
  requireAdmin(account.actor)
  await secretsOf(account, id)
  await account.write([account.feature(webhookTables).change.resume(id, account.deps.now())])
}

export async function deleteWebhook(account: AccountStore, id: string): Promise<void> {
  requireAdmin(account.actor)
  await secretsOf(account, id)
  await account.write([account.feature(webhookTables).change.remove(id)])
}

/** Sends an event of type `test` immediately, before all waiting events. Resolves to the response. */
export async function testWebhook(account: AccountStore, id: string): Promise<WebhookAnswer> {
  requireAdmin(account.actor)
  const { now } = account.deps
  const event = { id: newId(), type: 'test', at: now(), data: '{}' }
  const { answer } = await sendEvent(account, await serverOf(account, id), event)
  await account.write([account.feature(webhookTables).change.tested(id, answer, isTaken(answer), now())])
  return answer
}

/** Returns a webhook's server. Fails with `not_found`. */
export async function serverOf(account: AccountStore, id: string): Promise<WebhookServer> {
  const { url, secret, previous, previousUntil = 0 } = await secretsOf(account, id)
  const secrets = previous !== undefined && account.deps.now() < previousUntil ? [secret, previous] : [secret]
  return { url, secrets }
}

async function secretsOf(account: AccountStore, id: string): Promise<Secrets & { url: string }> {
  const row = await account.feature(webhookTables).read.sealed(id)
  if (!row) throw new GridError('not_found', 'There is no such webhook.')
  const { url, ...sealed } = row
  return { url, ...JSON.parse(await account.open('webhooks', id, sealed)) }
}

function seal(account: AccountStore, id: string, secrets: Secrets) {
  return account.seal('webhooks', id, JSON.stringify(secrets))
}
