/** Sends an account's events to one webhook, in order. See docs/protocol/webhooks.md. */
import type { Attempt } from '../../grid/outboxes/attempt.ts'
import { withRetries } from '../../grid/outboxes/retry.ts'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { second } from '../../lib/time.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import { isTaken, sendEvent } from './send-event.ts'
import { type WebhookAnswer, webhookTables } from './store.ts'
import { serverOf } from './webhooks.ts'

/** Timeout of one attempt, so that a slow endpoint does not block others. */
const maxAttemptMs = 10 * second
const maxQuoted = 80

/** Sends the waiting events. Resolves like an `OutboxAttempt`. */
export async function deliverEvents(attempt: Attempt): Promise<boolean> {
  const { system, outbox, signal } = attempt
  const { write, deps } = system
  const { read, change: webhooks } = system.feature(webhookTables)
  if (!await read.sealed(outbox.id)) return true
  const giveUp = async (reason: string) => {
    await write([webhooks.giveUp(outbox, reason, deps.now())])
  }
  let isReached = false
  const isDone = await withRetries(attempt, giveUp, async () => {
    const until = performance.now() + maxAttemptMs
    const server = await serverOf(system, outbox.id)
    while (performance.now() < until) {
      const event = await read.next(outbox.id)
      if (!event) break
      const { answer, error } = await sendEvent(system, server, event, signal)
      isReached = answer.status !== null
      const unit = [webhooks.answered(outbox, answer), ...isTaken(answer) ? webhooks.taken(outbox, event.seq) : []]
      // If this process is stopping, nothing is recorded, because the next process handles the outbox.
      if (signal.aborted) throw new RemoteError('aborted', answer.text)
      const [claimed] = await write(unit)
      if (answer.status === 410) throw new RemoteRefusal('It answered 410.')
      if (!isTaken(answer)) throw error ?? refused(answer)
      if (claimed.length === 0) return
    }
    await write([webhooks.release(outbox, deps.now())])
  })
  return isDone || isReached
}

function refused({ status, text }: WebhookAnswer): RemoteError {
  // Omits HTML, because proxies' error pages add no information to the status.
  const quoted = text === '' || text.startsWith('<') ? '' : ` “${text.slice(0, maxQuoted).toWellFormed()}”`
  const shown = `It answered ${status}.${quoted}`
  return Object.assign(new RemoteError('invalid_response', `${status}`), { answered: { shown } })
}
