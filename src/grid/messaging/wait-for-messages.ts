/** Reads and streams that wait until there is something to read. See docs/conversations.md, "Waiting". */
import { type AgentActor, callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { Signal } from '../../lib/notifier.ts'
import type { Presence } from '../../presence.ts'
import { hasPassed, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PageSize } from './inbox-message.ts'
import { type Batch, readMessages } from './read-messages.ts'

export const maxWaitSeconds = 50

/** How often a wait reads the inbox without being woken, in case a notification was lost. */
const lookMs = 15 * second
/** Roughly how long a wait pauses before it reads again, if the grid was too busy. */
const busyMs = 500

export interface WaitOptions {
  seconds: number
  /** Its signal is aborted when the caller disconnects: then nothing is leased. */
  caller?: { readonly signal: AbortSignal }
  /** Fails when the credential has ended. Called before each read but the first. */
  check?(): Promise<unknown>
  lookEveryMs?: number
}

/** Like `readMessages`, but waits as `waitUntilFound` does. */
export async function waitForMessages(account: AccountStore, input: PageSize, wait: WaitOptions): Promise<Batch> {
  return await waitUntilFound(account, (wokenAt) => readMessages(account, input, wokenAt), wait)
}

/** Takes messages of the calling agent, and waits while there are none or the grid is too busy. */
export async function waitUntilFound<Found extends { messages: readonly unknown[] }>(
  account: AccountStore,
  take: (wokenAt?: number) => Promise<Found>,
  options: WaitOptions,
): Promise<Found> {
  if (options.seconds <= 0) return await take()
  const { agentId } = callingAgent(account.actor)
  let leave: (() => void) | undefined
  try {
    return await waitUntil(account, options, {
      follow: (signal) => account.waiting.notifier.subscribe(agentId, signal),
      look: take,
      isEnough: ({ messages }) => messages.length > 0,
      rest: () => leave ??= account.waiting.presence.enter(agentId, { state: 'waiting' }),
    })
  } finally {
    leave?.()
  }
}

interface Wait<Found> {
  /** Raises the signal whenever there may be news. Returns the function that ends the subscription. */
  follow(signal: Signal): () => void
  /** `wokenAt` is when the signal was raised. */
  look(wokenAt: number | undefined): Promise<Found>
  isEnough(found: Found): boolean
  /** Called before each pause. */
  rest?(): void
}

/**
 * Calls `look`, and calls it again when the signal is raised, until the result is enough. Otherwise resolves to the
 * last result when the time is over, the process stops, there are too many waits, or the credential begins its fourth
 * wait and this is its oldest. Fails like `look` or `check`, or with `unavailable` if the caller has disconnected.
 */
export async function waitUntil<Found>(
  account: AccountStore,
  { seconds, caller, check, lookEveryMs = lookMs }: WaitOptions,
  { follow, look, isEnough, rest }: Wait<Found>,
): Promise<Found> {
  const { credentialId } = callingAgent(account.actor)
  const disconnected = caller?.signal
  const signal = new Signal()
  let isOver = false
  let isFirst = true
  let wokenAt: number | undefined
  const finish = () => {
    isOver = true
    signal.raise()
  }
  const unfollow = follow(signal)
  const releaseSlot = account.waiting.reads.acquireOrEvictOldest(credentialId, finish)
  if (!releaseSlot) finish()
  const timer = setTimeout(finish, seconds * second)
  disconnected?.addEventListener('abort', finish, { once: true })
  try {
    for (;;) {
      if (disconnected?.aborted) throw new GridError('unavailable', 'The caller has disconnected.')
      // Evaluated before `look` is called, so that the last call comes after the end of the wait.
      const isLast = isOver || account.deps.stopping?.aborted
      const looked = isFirst ? look(wokenAt) : Promise.resolve(check?.()).then(() => look(wokenAt))
      const found = await looked.catch((error) => {
        // Many waits that are woken together may fill the write queue. They try again later.
        if (isLast || !(error instanceof GridError) || !error.details.notExecuted) throw error
      })
      if (found !== undefined && (isLast || isEnough(found))) return found
      rest?.()
      // Random, so that not all waits call `look` at the same time.
      const again = setTimeout(
        () => signal.raise(),
        found === undefined ? busyMs * (0.5 + Math.random()) : lookEveryMs,
      )
      await account.trace.time('waitingMs', () => signal.raised())
      clearTimeout(again)
      if (!isOver) wokenAt = account.deps.now()
      isFirst = false
    }
  } finally {
    clearTimeout(timer)
    disconnected?.removeEventListener('abort', finish)
    releaseSlot?.()
    unfollow()
  }
}

const remindAfterMs = minute
/** The longest life of a stream. Its client then opens a new one. */
const maxAgeMs = 30 * minute

export type InboxEvent = 'unread' | 'heartbeat'

interface InboxWatch {
  heartbeatMs: number
  /** Fails when the credential has ended. Called before each event. */
  check(): Promise<unknown>
  caller: { readonly signal: AbortSignal }
  /** Who listens. By default, a program that only waits. */
  presence?: Presence
}

/**
 * Notifies the calling agent, for up to 30 minutes, that it has unread messages: immediately, when more arrive, and
 * again while they stay unread. The events contain no messages. Undefined when the credential has three streams
 * already, or a limit of streams is reached. See docs/protocol/rest.md, "Wake stream".
 */
export function watchInbox(account: AccountStore, watch: InboxWatch): AsyncGenerator<InboxEvent> | undefined {
  const agent = callingAgent(account.actor)
  return account.waiting.streams.reached(agent.credentialId) ? undefined : events(account, agent, watch)
}

async function* events(
  account: AccountStore,
  { agentId, credentialId }: AgentActor,
  { heartbeatMs, check, caller, presence = { state: 'waiting' } }: InboxWatch,
): AsyncGenerator<InboxEvent> {
  const { change, deps: { now, log, stopping }, read: { inbox }, waiting } = account
  const { notifier, streams } = waiting
  // Acquired at the start: a generator that never starts would never release it.
  const releaseSlot = streams.acquire(credentialId)
  if (!releaseSlot) return
  const disconnected = caller.signal
  const openedAt = now()
  const signal = new Signal()
  const unsubscribe = notifier.subscribe(agentId, signal)
  const leave = waiting.presence.enter(agentId, presence)
  const raise = () => signal.raise()
  disconnected.addEventListener('abort', raise, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  let spokeAt = -Infinity
  let announced = { seq: 0, at: -Infinity }
  let wasWoken = false
  try {
    while (!disconnected.aborted && !stopping?.aborted && now() - openedAt < maxAgeMs) {
      const newest = await inbox.newestUnread(agentId)
      const isNews = newest > announced.seq || (newest > 0 && hasPassed(announced.at, remindAfterMs, now()))
      if (isNews || hasPassed(spokeAt, heartbeatMs, now())) {
        if (!await isStillValid(check)) return
        if (isNews) {
          if (newest > announced.seq) account.writeLater([change.leases.woken(agentId, announced.seq, newest, now())])
          announced = { seq: newest, at: now() }
        }
        spokeAt = now()
        yield isNews ? 'unread' : 'heartbeat'
        wasWoken = false
        // The listener may read this event slowly, so check again before waiting.
        continue
      }
      // Woken without news: the agent may have been deleted or moved.
      if (wasWoken && !await isStillValid(check)) return
      timer = setTimeout(raise, heartbeatMs - (now() - spokeAt))
      await signal.raised()
      clearTimeout(timer)
      wasWoken = true
    }
  } catch (error) {
    log.warn('A stream ended because its inbox could not be read', { error })
  } finally {
    clearTimeout(timer)
    disconnected.removeEventListener('abort', raise)
    leave()
    unsubscribe()
    releaseSlot()
  }
}

async function isStillValid(check: InboxWatch['check']): Promise<boolean> {
  return await check().then(() => true, () => false)
}
