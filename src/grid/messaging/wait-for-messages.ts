/** Reads that wait until there is something to read. */
import { callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { Signal } from '../../lib/notifier.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PageSize } from './inbox-message.ts'
import { type Batch, readMessages } from './read-messages.ts'

/** Longest wait of a read. */
export const maxWaitSeconds = 50

/** How often a wait reads the inbox without being woken, in case a notification was lost. */
const lookMs = 15 * second
/** After about this time, a wait reads again if the grid was too busy. */
const busyMs = 500

export interface WaitOptions {
  seconds: number
  /** Its signal is aborted when the caller disconnects: then nothing is leased. */
  connection?: { readonly signal: AbortSignal }
  /** Fails when the credential has ended. Called before each read but the first. */
  check?(): Promise<unknown>
  /** How often the wait reads without being woken, in milliseconds. */
  lookEveryMs?: number
}

/**
 * Like `readMessages`, but waits while the inbox is empty. It reads before it waits, and again when a message is
 * committed. It returns an empty batch when its time is over, when the process stops, when it or the account has too many waits, or when the
 * credential begins its fourth wait and this is its oldest. While the grid is too busy, it goes on waiting.
 *
 * Fails as `readMessages` does. If the credential ends during the wait, in any process, it fails with
 * `unauthenticated`, or with `unavailable` if the agent has moved to another account: at once, or within 15 seconds
 * if the database does not answer. See docs/delivery.md, "Waiting".
 */
export async function waitForMessages(
  account: AccountStore,
  input: PageSize,
  { seconds, connection, check, lookEveryMs = lookMs }: WaitOptions,
): Promise<Batch> {
  const { agentId, credentialId } = callingAgent(account.actor)
  const { notifier, reads } = account.waiting
  if (seconds <= 0) return await readMessages(account, input)

  const disconnected = connection?.signal
  const signal = new Signal()
  let isOver = false
  let isFirst = true
  let wokenAt: number | undefined
  let leave: (() => void) | undefined
  const look = async () => {
    if (!isFirst) await check?.()
    return await readMessages(account, input, wokenAt)
  }
  const finish = () => {
    isOver = true
    signal.raise()
  }
  const unsubscribe = notifier.subscribe(agentId, signal)
  const releaseSlot = reads.acquireOrEvictOldest(credentialId, finish)
  if (!releaseSlot) finish()
  const timer = setTimeout(finish, seconds * second)
  disconnected?.addEventListener('abort', finish, { once: true })
  try {
    for (;;) {
      if (disconnected?.aborted) throw new GridError('unavailable', 'The caller has left.')
      // Evaluated before the inbox is read, so that the last read comes after the end of the wait.
      const isLast = isOver || account.deps.stopping?.aborted
      const batch = await look().catch((error) => {
        // Many waits that are woken at one moment fill the write queue. They have time.
        if (isLast || !(error instanceof GridError) || !error.details.notExecuted) throw error
      })
      if (batch && (batch.messages.length > 0 || isLast)) return batch
      leave ??= account.waiting.presence.enter(agentId, { state: 'waiting' })
      // Random, so that they do not all read again at one moment.
      const again = setTimeout(() => signal.raise(), batch ? lookEveryMs : busyMs * (0.5 + Math.random()))
      await signal.raised()
      clearTimeout(again)
      if (!isOver) wokenAt = account.deps.now()
      isFirst = false
    }
  } finally {
    clearTimeout(timer)
    disconnected?.removeEventListener('abort', finish)
    releaseSlot?.()
    leave?.()
    unsubscribe()
  }
}
