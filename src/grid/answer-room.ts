/** Limits the total size of a caller's unsent answers. See docs/security.md, "Overload". */
import { setTimeout } from 'node:timers/promises'
import { type GridError, limitReached } from '../errors.ts'
import type { Reached } from '../lib/limits/concurrency-limit.ts'
import type { AccountStore } from '../store/account.ts'

/** Poll interval of callers that wait for room. */
export const roomCheckMs = 500

/**
 * Makes an answer of up to `bytes`, which takes room until it is sent. Fails with `rate_limit_exceeded` if there is no
 * room. With `waits`, waits for room instead, because the call has changed something and needs an answer.
 */
export type AnswerRoom = <Answer>(
  bytes: number,
  make: () => Promise<Answer>,
  options?: { waits?: boolean },
) => Promise<Answer>

/** The connection that receives the answer. */
interface Caller {
  hasLeft?(): boolean
  /** Resolves when the answer is sent; undefined if the connection does not report it. */
  whenSent?(): Promise<void> | undefined
}

/** Limits the unsent answers of a caller. Without `whenSent`, an answer occupies room only while it is made. */
export function answerRoom(account: AccountStore, { hasLeft, whenSent }: Caller = {}): AnswerRoom {
  return async (bytes, make, { waits = false } = {}) => {
    let release = roomFor(account, bytes)
    while (typeof release !== 'function') {
      if (!waits || hasLeft?.()) {
        const advice = 'Call again when some of them have been read.'
        throw refusal('answer-bytes', release, 'bytes of unsent answers', advice)
      }
      await setTimeout(roomCheckMs)
      release = roomFor(account, bytes)
    }
    try {
      return await make()
    } finally {
      const sent = whenSent?.()
      if (sent) void sent.then(release)
      else release()
    }
  }
}

/** Takes room for this many bytes until the returned function is called, or returns the limit that was reached. */
export function roomFor({ actor, waiting }: AccountStore, bytes: number): (() => void) | Reached {
  return 'credentialId' in actor ? waiting.takeBytes(actor.credentialId, bytes) : () => {}
}

const holders: Record<Reached['by'], string> = { key: 'This key', account: 'This account', grid: 'The grid' }

/** Creates the error for a reached limit: `This key may have 6 lists at a time.`, followed by what to do. */
export function refusal(
  name: string,
  { by, quota }: Reached,
  what: string,
  advice: string,
  retryAfterSeconds = 1,
): GridError {
  const count = quota === 1 ? `one ${what.replace(/s$/, '')}` : `${quota.toLocaleString('en')} ${what}`
  const message = `${holders[by]} may have ${count} at a time. ${advice}`
  return limitReached('rate_limit_exceeded', message, { name, quota }, retryAfterSeconds)
}
