/** `GET /live`: sends changes to a browser's open pages. All tabs share one stream. */
import type { Sessions, Visitor } from '../auth/session.ts'
import { GridError } from '../errors.ts'
import { bye, type LiveEnd, type LiveEvent, type WatchedAccount } from '../grid/live/account-news.ts'
import { watchLive } from '../grid/live/watch-live.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream, retryAfter } from '../lib/http/event-stream.ts'
import { second } from '../lib/time.ts'
import type { Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import { type CountedVisit, countedVisit } from './attention/counts.ts'
import type { PageDeps } from './visit.ts'

export const livePath = '/live'

const heartbeatMs = 15 * second
/** Clients reopen a lost stream after two to four seconds, so that not all reconnect at once after a restart. */
const retryMs = 2 * second
/** Maximum number of accounts and threads per stream. */
const maxWatched = 40

/**
 * Opens a stream for the signed-in user. `watch` lists accounts, each with or without a thread: `A,A:T`. `after`, or
 * the header `Last-Event-ID`, is the last message that the pages show. A stream does not extend the session.
 *
 * Fails with `unauthenticated`, `invalid_input` or `method_not_allowed`. See docs/web.md, "Open pages".
 */
export function liveStream(
  { store, sessions, attention }: Pick<PageDeps, 'store' | 'sessions' | 'attention'>,
): Handler {
  return async function liveStream(c) {
    const request = c.req.raw
    // Hono answers HEAD with this handler and discards the body, so the stream would never close.
    if (request.method !== 'GET') throw new GridError('method_not_allowed', 'Open the stream with GET.')
    const query = new URL(request.url).searchParams
    const asked = threadsByAccount(query.get('watch') ?? '')
    const after = numberOf(request.headers.get('last-event-id') ?? query.get('after'))

    const visits = new Map<string, CountedVisit>()

    async function check(): Promise<LiveEnd | undefined> {
      return endOf(await open())
    }
    async function open(): Promise<Opened> {
      const visitor = await sessions.visitor(request, { isQuiet: true })
      if (!visitor) return { why: 'session' }
      const watched: WatchedAccount[] = []
      for (const [id, threads] of asked) {
        const account = openedAccount(sessions, visitor, id)
        if (!account) return { why: 'account', a: id }
        // Replaced on every session check, so that the visitor has the role found by the latest check.
        visits.set(id, countedVisit(store, visitor, { id, account }))
        watched.push({ id, account, threads, needs: () => attention.now(visits.get(id)!) })
      }
      return watched
    }

    const opened = await open()
    const end = endOf(opened)
    if (end?.why === 'session') throw new GridError('unauthenticated', 'Sign in first.')
    const connection = new CallerConnection(request, c.env)
    const events = Array.isArray(opened)
      ? watchLive(opened, { after, heartbeatMs, check, caller: connection })
      : ended(opened)
    return eventStream(frames(events), connection)
  }
}

async function* frames(events: AsyncGenerator<LiveEvent[]>): AsyncGenerator<string> {
  let opening = retryAfter(Math.round(retryMs * (1 + Math.random())))
  for await (const found of events) {
    yield opening + found.map(({ name, data, id }) => event(JSON.stringify(data), name, id)).join('')
    opening = ''
  }
}

type Opened = WatchedAccount[] | LiveEnd

function endOf(opened: Opened): LiveEnd | undefined {
  return Array.isArray(opened) ? undefined : opened
}

/**
 * Reports that the user may not see an account. This does not fail the stream, because pages of several accounts share
 * it.
 */
async function* ended(end: LiveEnd): AsyncGenerator<LiveEvent[]> {
  yield [bye(end)]
}

function openedAccount(sessions: Sessions, visitor: Visitor, id: string): AccountStore | undefined {
  try {
    return sessions.openAccount(visitor, id)
  } catch (error) {
    if (error instanceof GridError) return undefined
    throw error
  }
}

/** Returns the threads to watch, by account. */
function threadsByAccount(watch: string): Map<string, number[]> {
  const asked = new Map<string, number[]>()
  const items = watch.split(',').filter((item) => item !== '')
  for (const item of items) {
    const [, account, thread] = item.match(/^([0-9a-z-]{1,64})(?::(\d{1,15}))?$/i) ?? []
    if (account === undefined || items.length > maxWatched) {
      throw new GridError(
        'invalid_input',
        `watch lists up to ${maxWatched} accounts, each alone or with a thread: A,A:T.`,
      )
    }
    asked.set(account, [...asked.get(account) ?? [], ...thread === undefined ? [] : [Number(thread)]])
  }
  if (asked.size === 0) throw new GridError('invalid_input', 'The query parameter `watch` is missing.')
  return asked
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
