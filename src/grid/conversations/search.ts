/** Messages that the calling user may read, by their words. See docs/security.md, "People who read". */
import { allows } from '../../auth/actor.ts'
import { excerptOf, type ExcerptPiece, hasWords, queryWords } from '../../lib/search-words.ts'
import type { AccountStore } from '../../store/account.ts'
import type { FoundPlace, SearchTerms } from '../../store/account/search.ts'
import { isReadBySwitch, mayRead, placeOf, type Reader, readerOf, recordReading } from './may-read.ts'
import { findMessages, type ThreadMessage } from './messages.ts'
import { rangeOf, type SearchQuery } from './search-query.ts'

/** A message that was found, with a piece of its text. */
export interface Hit extends ThreadMessage {
  excerpt: ExcerptPiece[]
}

export interface SearchResult {
  /** Newest first, at most 20. */
  hits: Hit[]
  /** How many the reader may read from here on; `hasMore`: of the first 500 that were looked at. */
  total: number
  hasMore: boolean
  /** Where the next page begins: pass it as `position`. */
  next?: number
  /** The index is being filled from the first message on, so newer ones are not found yet. */
  isFilling: boolean
  /** The query names a word or a filter. */
  isAsked: boolean
  /** The reader may read no messages at all. */
  isReader: boolean
}

const pageSize = 20
const maxLooked = 500
/** More messages than these come between two updates of the index only while it is filled again. */
const maxMissing = 1_000

/** Search messages. `days` are the times of `after` and `before` of the query. */
export async function searchConversations(
  account: AccountStore,
  query: SearchQuery,
  { days, position, requestId }: {
    days: { after?: number; before?: number }
    position?: number
    requestId: string | null
  },
): Promise<SearchResult> {
  const reader = await readerOf(account)
  const words = queryWords(query.words)
  const isAsked = words.length > 0 || Object.entries(query).some(([name, value]) => {
    return name !== 'words' && (Array.isArray(value) ? value.length > 0 : Boolean(value))
  })
  const within = withinOf(reader)
  const isReader = within === undefined || within.agents.length > 0
  const nothing = { hits: [], total: 0, hasMore: false, isFilling: false, isAsked, isReader }
  if (!isAsked || !isReader || (query.isUnread && !reader.seat) || (query.to && query.in)) return nothing
  const to = query.in ? `#${query.in}` : query.to ? `@${query.to}` : undefined
  const terms: SearchTerms = { words, from: query.from || undefined, to, has: query.has, within }
  const range = { ...await rangeOf(account, days, position), limit: maxLooked + 1 }
  const found = await account.read.search.places(terms, range, query.isUnread ? reader.seat?.agentId : undefined)
  const looked = found.slice(0, maxLooked)
  const allowed = looked.filter((place) => {
    const { after = -Infinity, before = Infinity } = days
    return place.at >= after && place.at < before && mayRead(reader, placeIn(reader, place), place.at)
  })
  const places = await withWords(account, allowed, words)
  const shown = places.slice(0, pageSize)
  const hits = await findMessages(account, shown.map(({ seq }) => seq))
  if (shown.some((place) => isReadBySwitch(reader, placeIn(reader, place), place.at))) {
    await recordReading(account, { list: 'search' }, requestId)
  }
  const next = places.length > pageSize ? shown.at(-1)!.seq : found.length > maxLooked ? looked.at(-1)!.seq : undefined
  return {
    hits: hits.toReversed().map((message) => ({ ...message, excerpt: excerptOf(message.body, words) })),
    total: places.length,
    hasMore: found.length > maxLooked,
    isFilling: await account.read.search.missing() > maxMissing,
    next,
    isAsked,
    isReader,
  }
}

/** Where the reader can read anything; undefined for everywhere. It narrows the search, and `mayRead` decides. */
function withinOf({ role, seat, peopleReadSince, channels }: Reader): SearchTerms['within'] {
  if (allows(role, 'manage') && peopleReadSince !== null) return undefined
  return { agents: seat ? [seat.agentId] : [], channels: [...channels.keys()] }
}

function placeIn(reader: Reader, { channelId, fromAgentId, toAgentId }: FoundPlace) {
  return placeOf(reader, { channelId, agents: [fromAgentId, toAgentId] })
}

/** Without those whose words a guardrail took out before the message was delivered to this account. */
async function withWords(account: AccountStore, places: FoundPlace[], words: string[]): Promise<FoundPlace[]> {
  const changed = places.filter(({ isChanged }) => isChanged === 1).map(({ seq }) => seq)
  if (changed.length === 0) return places
  const lost = (await findMessages(account, changed)).filter(({ body }) => !hasWords(body, words))
  const without = new Set(lost.map(({ seq }) => seq))
  return places.filter(({ seq }) => !without.has(seq))
}
