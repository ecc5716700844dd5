/** Full-text search of the messages that the calling user may read. See docs/people.md, "People who read". */
import { callingUser } from '../../auth/actor.ts'
import { excerptOf, type ExcerptPiece, queryWords } from '../../lib/search-words.ts'
import { oneLine } from '../../lib/one-line.ts'
import type { AccountStore } from '../../store/account.ts'
import type { FoundPlace, SearchTerms } from '../../store/account/search.ts'
import { isReadBySwitch, mayRead, placeOf, readableTimes, type Reader, readerOf, recordReading } from './may-read.ts'
import { findMessages, type ThreadMessage } from './messages.ts'
import { fileNames, listParts } from './open-message.ts'
import { maxClockSkewMs, rangeOf } from '../messaging/log-range.ts'
import type { SearchQuery } from './search-query.ts'

/** A found message with a snippet. */
export interface Hit extends ThreadMessage {
  excerpt: ExcerptPiece[]
}

export interface SearchResult {
  /** Newest first, at most 20. */
  hits: Hit[]
  /** The number of readable matches from this page on, at most 500. `hasMore` means that there are more. */
  total: number
  hasMore: boolean
  /** The `position` of the next page. */
  next?: number
  /** Whether the index is being rebuilt from the first message, so that newer messages are not found yet. */
  isFilling: boolean
  /** Whether the query contains a word or a filter. */
  isAsked: boolean
  /** Whether the reader may read messages at all. */
  isReader: boolean
}

const pageSize = 20
const maxCounted = 500
/** A larger backlog of unindexed messages means that the index is being rebuilt. */
const maxMissing = 1_000

/** Searches messages. `days` are the times that `after` and `before` of the query stand for. */
export async function searchConversations(
  account: AccountStore,
  query: SearchQuery,
  { days, position, requestId }: {
    days: { after?: number; before?: number }
    position?: number
    requestId: string | null
  },
): Promise<SearchResult> {
  const words = queryWords(query.words)
  const isAsked = words.length > 0 || Object.entries(query).some(([name, value]) => {
    return name !== 'words' && (Array.isArray(value) ? value.length > 0 : Boolean(value))
  })
  const [reader, log, first, missing] = await Promise.all([
    readerOf(account),
    ...isAsked
      ? [
        rangeOf(account, days, position),
        account.read.search.positionOfReader(callingUser(account.actor).userId, maxClockSkewMs),
        account.read.search.missing(),
      ] as const
      : [],
  ])
  const isReader = reader.personAlias !== undefined || readableTimes(reader).others !== null
  const nothing = { hits: [], total: 0, hasMore: false, isFilling: false, isAsked, isReader }
  if (!isAsked || !isReader || (query.isUnread && !reader.personAlias) || (query.to && query.in)) return nothing
  const to = query.in ? `#${query.in}` : query.to ? `@${query.to}` : undefined
  const terms: SearchTerms = { words, from: query.from || undefined, to, has: query.has }
  const range = { ...log, limit: maxCounted + 1 }
  const found = (await findPlaces(account, reader, terms, range, first, query.isUnread))
    .filter((place) => mayRead(reader, placeIn(reader, place), place.at))
  const places = found.slice(0, maxCounted)
  const shown = places.slice(0, pageSize)
  const isOfOthers = shown.some((place) => isReadBySwitch(reader, placeIn(reader, place), place.at))
  const [hits] = await Promise.all([
    findMessages(account, shown.map(({ seq }) => seq)),
    recordReading(account, { list: 'search' }, requestId, isOfOthers),
  ])
  return {
    hits: hits.toReversed().map((message) => ({ ...message, excerpt: excerptIn(message, words) })),
    total: places.length,
    hasMore: found.length > maxCounted,
    isFilling: missing > maxMissing,
    next: places.length > pageSize ? shown.at(-1)!.seq : undefined,
    isAsked,
    isReader,
  }
}

/** Returns a snippet of the text. If the text contains no word of the query, the snippet begins with the file names. */
function excerptIn(message: ThreadMessage, words: readonly string[]): ExcerptPiece[] {
  const text = oneLine(message.body)
  const excerpt = excerptOf(text, words)
  const isFound = words.length === 0 || excerpt.some(({ isMatch }) => isMatch)
  const files = isFound ? '' : fileNames(listParts(message))
  return files === '' ? excerpt : excerptOf(`${files}: ${text}`, words)
}

/** Returns the newest readable matches: messages to or from the reader's alias, and others after message `first`. */
async function findPlaces(
  account: AccountStore,
  reader: Reader,
  terms: SearchTerms,
  range: Awaited<ReturnType<typeof rangeOf>> & { limit: number },
  first: number,
  isUnread: boolean,
): Promise<FoundPlace[]> {
  const { places } = account.read.search
  const times = readableTimes(reader)
  const { personAlias, channels, others } = times
  const mine = { ...terms, within: { agents: [personAlias!], channels: [] } }
  if (isUnread) return await places(mine, times, range, personAlias!)
  const rest = { ...terms, within: others === null ? { agents: [], channels: Object.keys(channels) } : undefined }
  const found = await Promise.all([
    personAlias === null ? [] : places(mine, times, range),
    others === null && Object.keys(channels).length === 0
      ? []
      // Older messages are skipped, because the reader may be unable to read many of them.
      : places(rest, times, { ...range, after: Math.max(range.after, first) }),
  ])
  return [...new Map(found.flat().map((place) => [place.seq, place])).values()].sort((a, b) => b.seq - a.seq)
    .slice(0, range.limit)
}

function placeIn(reader: Reader, { channelId, fromAgentId, toAgentId }: FoundPlace) {
  return placeOf(reader, { channelId, agents: [fromAgentId, toAgentId] })
}
