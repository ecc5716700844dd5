/** Waiting for mail: reads that block until there is some, and streams that say so. Both only look; reading is `mailbox.ts`. */
import { type AgentActor, callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { minute, second } from '../../lib/time.ts'
import { Bell } from '../../lib/notifier.ts'
import type { AccountStore } from '../../store/account.ts'
import { type Batch, readMessages } from './read-messages.ts'

/** Longest wait of a read. */
export const maxWaitSeconds = 50

/** How often a wait looks by itself, should nobody have been able to wake it. */
const lookMs = 15 * second
/** About when a wait looks again after the grid was too busy. */
const busyMs = 500

/** Mail that is still unread after this long is announced again. */
const remindAfterMs = minute
/** Oldest a stream gets; its client opens a new one. */
const maxAgeMs = 30 * minute

export interface Wait {
  seconds: number
  /** Its signal is aborted when the caller has left: then nothing is handed out. */
  departure?: { readonly signal: AbortSignal }
  /** Fails when the credential is no longer good; asked again before a later look. */
  check?(): Promise<unknown>
  /** How often it looks although nobody wakes it, in milliseconds. */
  lookEveryMs?: number
}

/**
 * `readMessages` that waits while the mailbox is empty. It looks before it waits, and it answers at the commit
 * of a message; otherwise with an empty batch when the time is over, the process stops or has too many waits,
 * or the credential began its fourth and this was its oldest. While the grid is too busy it goes on waiting.
 *
 * Fails as `readMessages` does, and when the credential ended meanwhile, at whichever process, with
 * `unauthenticated`, or `unavailable` when its agent is in another account now: at once, or at the latest after
 * 15 seconds if the database did not answer in between.
 */
export async function awaitMessages(
  account: AccountStore,
  input: Parameters<typeof readMessages>[1],
  { seconds, departure, check, lookEveryMs = lookMs }: Wait,
): Promise<Batch> {
  const { agentId, credentialId } = callingAgent(account.actor)
  const { wakes, reads } = account.waiting
  if (seconds <= 0) return await readMessages(account, input)

  const left = departure?.signal
  const bell = new Bell()
  let isOver = false
  let isFirst = true
  let wokenAt: number | undefined
  const look = async () => {
    if (!isFirst) await check?.()
    return await readMessages(account, input, wokenAt)
  }
  const finish = () => {
    isOver = true
    bell.ring()
  }
  const ignore = wakes.listen(agentId, bell)
  const leave = reads.takeOldest(credentialId, finish)
  if (!leave) finish()
  const timer = setTimeout(finish, seconds * second)
  left?.addEventListener('abort', finish, { once: true })
  try {
    for (;;) {
      if (left?.aborted) throw new GridError('unavailable', 'The caller has left.')
      // Seen before the look, so that the last look is after the end.
      const isLast = isOver || account.deps.stopping?.aborted
      const batch = await look().catch((error) => {
        // Many that are woken at one moment fill the queue of writes. They have time.
        if (isLast || !(error instanceof GridError) || !error.details.nothingDone) throw error
      })
      if (batch && (batch.messages.length > 0 || batch.tooLong !== undefined || isLast)) return batch
      // Not all at one moment again.
      const again = setTimeout(() => bell.ring(), batch ? lookEveryMs : busyMs * (0.5 + Math.random()))
      await bell.rings()
      clearTimeout(again)
      if (!isOver) wokenAt = account.deps.now()
      isFirst = false
    }
  } finally {
    clearTimeout(timer)
    left?.removeEventListener('abort', finish)
    leave?.()
    ignore()
  }
}

/** What a stream says: that mail waits, or that it is alive. */
export type Signal = 'mail' | 'alive'

export interface Listening {
  /** How long a stream may be silent. */
  heartbeatMs: number
  /** Fails when the credential is no longer good; asked before everything that is said. */
  check(): Promise<unknown>
  /** Its signal is aborted when the listener has left. */
  departure: { readonly signal: AbortSignal }
}

/**
 * Tell the calling agent, for up to 30 minutes, that mail waits: at once, when more comes, and again while it
 * stays unread. Mail that was read is never spoken of. Ends when the process stops or the credential does.
 * Undefined when the credential has its three streams, or the process all of its own.
 *
 * Fails with `wrong_credential`. Security A10.
 */
export function listenForMail(account: AccountStore, listening: Listening): AsyncGenerator<Signal> | undefined {
  const { agentId, credentialId } = callingAgent(account.actor)
  const { streams } = account.waiting
  return streams.isFree(credentialId) ? signals(account, { agentId, credentialId }, listening) : undefined
}

async function* signals(
  account: AccountStore,
  { agentId, credentialId }: Pick<AgentActor, 'agentId' | 'credentialId'>,
  { heartbeatMs, check, departure }: Listening,
): AsyncGenerator<Signal> {
  const { change, deps: { now, log, stopping }, read: { mailbox }, waiting: { wakes, streams } } = account
  // A generator that is never started gives nothing back, so it takes nothing before.
  const leave = streams.take(credentialId)
  if (!leave) return
  const left = departure.signal
  const openedAt = now()
  const bell = new Bell()
  const ignore = wakes.listen(agentId, bell)
  const ring = () => bell.ring()
  left.addEventListener('abort', ring, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  let spokeAt = -Infinity
  let announced = { seq: 0, at: -Infinity }
  let wasRung = false
  try {
    while (!left.aborted && !stopping?.aborted && now() - openedAt < maxAgeMs) {
      const newest = await mailbox.newestUnread(agentId)
      const isNews = newest > announced.seq || (newest > 0 && hasPassed(announced.at, remindAfterMs, now()))
      if (isNews || hasPassed(spokeAt, heartbeatMs, now())) {
        if (!await isGood(check)) return
        if (isNews) {
          if (newest > announced.seq) account.later([change.handOuts.woken(agentId, announced.seq, newest, now())])
          announced = { seq: newest, at: now() }
        }
        spokeAt = now()
        yield isNews ? 'mail' : 'alive'
        wasRung = false
        // Speaking may take as long as the listener likes.
        continue
      }
      // Rung for nothing: the agent may have been deleted, or moved.
      if (wasRung && !await isGood(check)) return
      timer = setTimeout(ring, heartbeatMs - (now() - spokeAt))
      await bell.rings()
      clearTimeout(timer)
      wasRung = true
    }
  } catch (error) {
    log.warn('A stream ended because its mailbox could not be looked into', { error })
  } finally {
    clearTimeout(timer)
    left.removeEventListener('abort', ring)
    ignore()
    leave()
  }
}

/** Whether so long has passed. A clock that was set back stops nothing. */
function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms
}

async function isGood(check: Listening['check']): Promise<boolean> {
  return await check().then(() => true, () => false)
}
