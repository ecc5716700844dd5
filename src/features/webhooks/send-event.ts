/** One request to a webhook, and its response. See docs/protocol/webhooks.md. */
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { hopsHeader, webhookHeaders } from '../../lib/outbound/webhook-signature.ts'
import { printableLine } from '../../lib/redact.ts'
import { isoTime, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { type WaitingEvent, type WebhookAnswer, webhookTables } from './store.ts'

const timeoutMs = 15 * second
const shownCharacters = 200
/** The fields of `data` that contain times. They are stored in milliseconds since the epoch and sent as ISO 8601. */
const times = ['expires_at', 'since', 'failed_at']

export interface WebhookServer {
  url: string
  /** The signing secrets. Each one adds a signature. */
  secrets: readonly string[]
}

/** Sends an event. `error` is set if there was no response. */
export async function sendEvent(
  account: AccountStore,
  { url, secrets }: WebhookServer,
  event: Omit<WaitingEvent, 'seq'>,
  signal?: AbortSignal,
): Promise<{ answer: WebhookAnswer; error?: RemoteError }> {
  const { deps: { now, safeFetch }, trace: { spans } } = account
  const at = now()
  const body = await bodyOf(account, url, event)
  const startedAt = performance.now()
  const answer = (status: number | null, text: string): WebhookAnswer => (
    { at, type: event.type, status, ms: Math.round(performance.now() - startedAt), text }
  )
  try {
    const { hops } = JSON.parse(event.data)
    const headers = {
      ...webhookHeaders(secrets, event.id, at, body),
      ...(hops !== undefined && { [hopsHeader]: String(hops) }),
    }
    const { status, text } = await safeFetch(url, { body, headers, timeoutMs, signal, spans })
    return { answer: answer(status, printableLine(text, shownCharacters)) }
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error
    return { answer: answer(null, error.why), error }
  }
}

export function isTaken({ status }: WebhookAnswer): boolean {
  return status !== null && status >= 200 && status < 300
}

async function bodyOf(account: AccountStore, url: string, { type, at, data }: Omit<WaitingEvent, 'seq'>) {
  const known = JSON.parse(data)
  for (const name of times) if (known[name] !== undefined) known[name] = isoTime(known[name])
  const text = type === 'message'
    ? await account.feature(webhookTables).read.text(known.message_id, new URL(url).host)
    : undefined
  return JSON.stringify({ type, timestamp: isoTime(at), data: { ...known, text } })
}
