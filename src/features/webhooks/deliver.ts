/** Sends the events of an account to one webhook, in order. See docs/protocol/webhooks.md. */
import type { Attempt } from '../../grid/outboxes/attempt.ts'
import { withRetries } from '../../grid/outboxes/retry.ts'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { printableLine } from '../../lib/redact.ts'
import { hopsHeader, webhookHeaders } from '../../lib/outbound/webhook-signature.ts'
import { second } from '../../lib/time.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import { type WaitingEvent, type WebhookAnswer, webhookTables } from './store.ts'
import { signingSecrets } from './webhooks.ts'

const timeoutMs = 15 * second
/** After this time an attempt ends, so that others get their turn. */
const maxAttemptMs = 10 * second
const keptAnswers = 10
const shownCharacters = 200

/** Resolves as a `OutboxAttempt` does. */
export async function deliverEvents(attempt: Attempt): Promise<boolean> {
  const { system, outbox, signal } = attempt
  const { write, deps } = system
  const { read, change: webhooks } = system.feature(webhookTables)
  const row = await read.sealed(outbox.id)
  if (!row) return true
  let answers: WebhookAnswer[] = JSON.parse(row.answers)
  const giveUp = async (reason: string) => {
    await write([webhooks.giveUp(outbox, reason, deps.now())])
  }
  let isReached = false
  const isTaken = await withRetries(attempt, giveUp, async () => {
    const until = performance.now() + maxAttemptMs
    const secrets = await signingSecrets(system, outbox.id)
    const url = (await read.list()).find(({ id }) => id === outbox.id)?.url
    while (url !== undefined && performance.now() < until) {
      const event = await read.next(outbox.id)
      if (!event) break
      const answer = await send(system, url, secrets, event, signal)
      isReached = answer.status !== null
      answers = [answer, ...answers].slice(0, keptAnswers)
      const isOk = answer.status !== null && answer.status >= 200 && answer.status < 300
      const unit = [webhooks.answered(outbox, answers), ...isOk ? webhooks.taken(outbox, event.seq) : []]
      // A process that stops leaves the outbox to the next one.
      if (signal.aborted) throw new RemoteError('aborted', answer.text)
      const [claimed] = await write(unit)
      if (answer.status === 410) throw new RemoteRefusal('It answered 410.')
      if (!isOk) throw answer.error ?? refused(answer.status)
      if (claimed.length === 0) return
    }
    await write([webhooks.release(outbox, deps.now())])
  })
  return isTaken || isReached
}

function refused(status: number | null): RemoteError {
  return Object.assign(new RemoteError('invalid_response', `${status}`), {
    answered: { told: `It answered ${status}.` },
  })
}

async function send(
  account: AccountStore,
  url: string,
  secrets: readonly string[],
  event: WaitingEvent,
  signal: AbortSignal,
): Promise<WebhookAnswer & { error?: Error }> {
  const { deps: { now, safeFetch }, trace: { spans } } = account
  const at = now()
  const body = await bodyOf(account, url, event)
  const startedAt = performance.now()
  const said = { at, type: event.type }
  const ms = () => Math.round(performance.now() - startedAt)
  try {
    const { hops } = JSON.parse(event.data)
    const headers = {
      ...webhookHeaders(secrets, event.id, at, body),
      ...(hops !== undefined && { [hopsHeader]: String(hops) }),
    }
    const { status, text } = await safeFetch(url, { body, headers, timeoutMs, signal, spans })
    return { ...said, status, ms: ms(), text: printableLine(text, shownCharacters) }
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error
    // What is thrown is not stored: JSON leaves out what is not enumerable.
    return Object.defineProperty({ ...said, status: null, ms: ms(), text: error.reason }, 'error', { value: error })
  }
}

async function bodyOf(account: AccountStore, url: string, { type, at, data }: WaitingEvent): Promise<string> {
  const known = JSON.parse(data)
  const text = type === 'message'
    ? await account.feature(webhookTables).read.text(known.message_id, new URL(url).host)
    : undefined
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data: { ...known, text } })
}
