/** Event streams for the open pages of a person. Events contain no message text; pages fetch the content. */
import { callingUser } from '../../auth/actor.ts'
import { Signal } from '../../lib/notifier.ts'
import { hasPassed, minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import {
  AccountNews,
  bye,
  countMs,
  endOf,
  inOrder,
  type LiveEnd,
  type LiveEvent,
  maxMissed,
  resync,
  type WatchedAccount,
} from './account-news.ts'

const maxAgeMs = 30 * minute

interface LiveWatch {
  /** The stream starts after this message; undefined to start with the next one. */
  after?: number
  /** How long the stream may be silent, in milliseconds. It is also the interval of session checks. */
  heartbeatMs: number
  /** Why the stream has to end; undefined if the session and the accounts are unchanged. */
  check(): Promise<LiveEnd | undefined>
  caller: { readonly signal: AbortSignal }
}

/**
 * Streams readable changes in accounts to the calling user, for up to 30 minutes. Ends with `bye`, unless the browser
 * leaves. A person has at most four streams: a fifth ends the oldest.
 */
export function watchLive(watched: readonly WatchedAccount[], watch: LiveWatch): AsyncGenerator<LiveEvent[]> {
  const { userId } = callingUser(watched[0].account.actor)
  return events(watched.map((one) => new AccountNews(one)), watched[0].account, userId, watch)
}

async function* events(
  accounts: readonly AccountNews[],
  { deps: { now, log, stopping }, waiting }: AccountStore,
  userId: string,
  { after, caller: { signal: disconnected }, heartbeatMs, check }: LiveWatch,
): AsyncGenerator<LiveEvent[]> {
  const signal = new Signal()
  const raise = () => signal.raise()
  let isReplaced = false
  const release = waiting.pages.acquireOrEvictOldest(userId, () => {
    isReplaced = true
    raise()
  })
  if (!release) return yield [bye({ why: 'full' })]
  let isWoken = false
  const wake = Object.assign(new Signal(), {
    raise() {
      isWoken = true
      raise()
    },
  })
  const unsubscribe = waiting.notifier.subscribe(userId, wake)
  disconnected.addEventListener('abort', raise, { once: true })
  const openedAt = now()
  let checkedAt = now()
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    yield await beginning(accounts, after, raise)
    let spokeAt = now()
    while (!disconnected.aborted && !hasPassed(openedAt, maxAgeMs, now())) {
      if (isReplaced) return yield [bye({ why: 'replaced' })]
      if (stopping?.aborted) return yield [bye({ why: 'stopping' })]
      if (isWoken || hasPassed(checkedAt, heartbeatMs, now())) {
        isWoken = false
        const end = await check()
        if (end) return yield [bye(end)]
        for (const account of accounts) account.distrust()
        checkedAt = now()
      }
      const found = (await Promise.all(accounts.map((account) => account.take()))).flat()
      const isBeat = hasPassed(spokeAt, heartbeatMs, now())
      if (found.length > 0 || isBeat) {
        spokeAt = now()
        yield told(found, isBeat, accounts[0].position)
        // The browser may read this slowly, so check for changes before waiting.
        continue
      }
      timer = setTimeout(raise, countMs)
      await signal.raised()
      clearTimeout(timer)
    }
  } catch (error) {
    const end = endOf(error)
    if (end.why === 'unavailable') log.warn('A stream of a page ended because its updates could not be read', { error })
    yield [bye(end)]
  } finally {
    clearTimeout(timer)
    disconnected.removeEventListener('abort', raise)
    unsubscribe()
    for (const account of accounts) account.leave()
    release()
  }
}

async function beginning(accounts: readonly AccountNews[], after: number | undefined, raise: () => void) {
  const begun = await Promise.all(accounts.map((account) => account.begin(after, raise)))
  const seq = Math.min(...begun.map(({ position }) => position))
  const missed = begun.flatMap(({ missed }) => missed)
  const counts = await Promise.all(accounts.map((account) => account.take()))
  const isTooMuch = begun.some(({ isTooMuch }) => isTooMuch) || missed.length > maxMissed
  return [
    { name: 'hello' as const, data: { seq } },
    ...isTooMuch ? [resync(seq)] : inOrder(missed, seq),
    ...counts.flat(),
  ]
}

function told(found: LiveEvent[], isBeat: boolean, position: number): LiveEvent[] {
  if (found.some(({ name }) => name === 'resync') || found.length > maxMissed) return [resync(position)]
  return [...inOrder(found), ...isBeat ? [{ name: 'beat' as const, data: {}, id: position }] : []]
}
