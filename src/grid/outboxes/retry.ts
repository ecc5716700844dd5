/** Retries failed attempts and eventually gives up. See docs/protocol/remote-agents.md, "How messages are sent". */
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { Attempt } from './attempt.ts'

/** Retry delays; the last one repeats. */
const retryAfterMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour]
const givenUpAfterMs = day
/**
 * Maximum number of attempts whose request was sent completely but got no response, or an invalid one. More attempts
 * would not help.
 */
const maxUnanswered = { timeout: 2, useless: 3 }

/**
 * Makes an attempt. If it fails, it is retried later, or `giveUp` is called with the reason. Resolves to whether the
 * server responded correctly.
 */
export async function withRetries(
  { account, outbox, signal }: Attempt,
  giveUp: (reason: string, said?: string) => Promise<void>,
  attempt: () => Promise<void>,
): Promise<boolean> {
  try {
    await attempt()
    return true
  } catch (error) {
    // The process is stopping. The outbox is released when the process has exited.
    if (signal.aborted) return true
    if (error instanceof RemoteRefusal) {
      await giveUp(error.message, error.said)
      return true
    }
    const { read, change, deps } = account
    const at = deps.now()
    const { attempts = 0, failingSince = at, unanswered = 0 } = await read.remoteAgents.failures(outbox) ?? {}
    // A postponed attempt has not failed.
    const failedFor = attempts === 0 ? 0 : at - (failingSince ?? at)
    const reason = reasonOf(error)
    const most = error instanceof RemoteError && error.unanswered ? maxUnanswered[error.unanswered] : Infinity
    if (failedFor >= givenUpAfterMs) await giveUp(`It has failed for 24 hours. ${reason}`)
    else if (unanswered + 1 >= most) await giveUp(`It received the message ${unanswered + 1} times. ${reason}`)
    else {
      const asked = error instanceof RemoteError ? error.answered?.retryAfterMs : undefined
      const pause = asked ?? retryAfterMs[Math.min(attempts, retryAfterMs.length - 1)]
      const isUnsent = error instanceof RemoteError && ['refused', 'not_connected'].includes(error.reason)
      const failure = { error: reason, dueAt: at + pause, isUnsent, isUnanswered: most < Infinity }
      await account.write([change.remoteAgents.failed(outbox, failure, at)])
    }
    if (!(error instanceof RemoteError)) deps.log.warn('A request to an external server was not made', { error })
    return !(error instanceof RemoteError) || error.answered !== undefined || error.unanswered === 'useless'
  }
}

/** Returns a readable reason for the account's people. */
function reasonOf(error: unknown): string {
  if (!(error instanceof RemoteError)) return 'The grid itself failed: its log says why.'
  return error.answered?.shown ?? error.why
}
