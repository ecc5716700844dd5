/**
 * Searches messages by their words, in the index that `global/search-index.ts` fills. Messages that the reader may not
 * read are excluded before hits are counted and limited, so that no count or cursor reveals them.
 */
import { Buffer } from 'node:buffer'
import { isShort } from '../../lib/search-words.ts'
import { type AccountDb, crossAccountQuery, query } from '../sql.ts'
import { agentOf, inboxOf, isInTime } from './inbox-message.ts'
import { isRedactedByOthers } from './new-message.ts'

/** Conditions on a message. Aliases are without `@`. Names and aliases are as they were when the message was sent. */
export interface SearchTerms {
  /** Words as produced by `queryWords` in `lib/search-words.ts`. */
  words: readonly string[]
  from?: string
  /** The recipient: `@alias` or `#channel`. */
  to?: string
  has?: readonly string[]
  /** The ids of senders or recipients, and of channels; undefined for all. */
  within?: { agents: readonly string[]; channels: readonly string[] }
}

/** A part of the log, newest first, excluding `after` and `before`. `from` and `until` are times. */
interface LogRange {
  after: number
  before: number
  from: number
  until: number
  limit: number
}

/** Since when a person may read messages. Null: never. The rules are in `grid/conversations/may-read.ts`. */
export interface ReadableTimes {
  /** The person's agent. The person may read all of its direct messages. */
  personAlias: string | null
  /** The times for single channels, by id. */
  channels: Readonly<Record<string, number>>
  others: number | null
}

/** A message that a person may read. */
export interface FoundPlace {
  seq: number
  threadId: number
  at: number
  channelId: string | null
  fromAgentId: string
  toAgentId: string | null
}

/** A message that an agent sent or received, with the text that it sent or received. */
export interface FoundMessage {
  seq: number
  id: string
  recipient: string
  fromAlias: string
  createdAt: number
  body: string
  /** 0 or 1: the text was delivered to the agent in a version that differs from the index. */
  isChanged: number
}

/**
 * An index query for the terms and for `more`, which contains the account's term. If the agent `reader` received a
 * version of its own, only that version is searched.
 */
export function matchOf(
  { words, from, to, has = [], within }: SearchTerms,
  reader: string | undefined,
  ...more: string[]
): string {
  const ends = within && [
    ...within.agents.flatMap((id) => [idTerm('f', id), idTerm('t', id)]),
    ...within.channels.map((id) => idTerm('c', id)),
  ]
  const meta = [
    ...from === undefined ? [] : [term('n', from)],
    ...to === undefined ? [] : [term('r', to)],
    ...has.filter((kind) => kind !== 'link').map((kind) => `h${kind}`),
    ...ends ? [`(${ends.join(' OR ')})`] : [],
    ...more,
  ]
  const beginning = (word: string) => isShort(word) ? '' : ' *'
  const text = (term: (word: string) => string, link: string) => [
    ...words.map((word) => `"${term(word)}"${beginning(word)}`),
    ...has.includes('link') ? [link] : [],
  ]
  const sent = text(wordTerm, 'hlink')
  if (reader === undefined || sent.length === 0) return [...meta, ...sent].join(' AND ')
  const isChanged = idTerm('x', reader)
  const own = text((word) => ownWord(reader, word), ownLink(reader))
  return [
    ...meta,
    `(((${sent.join(' AND ')}) NOT ${isChanged}) OR (${[isChanged, ...own].join(' AND ')}))`,
  ].join(' AND ')
}

/** The term for a word of the text. */
export function wordTerm(word: string): string {
  return `w${word}`
}

/** The term for a word of the version delivered to an agent. */
export function ownWord(agent: string, word: string): string {
  return `${idTerm('k', agent)}x${word}`
}

/** The term for a link in the version delivered to an agent. */
export function ownLink(agent: string): string {
  return `${idTerm('k', agent)}hlink`
}

/** The term for an id, see `global/search-index.ts`. */
export function idTerm(kind: string, id: string): string {
  return kind + id.replaceAll('-', '')
}

function term(kind: string, value: string): string {
  return kind + Buffer.from(value).toString('hex')
}

const isFound = (match: string) =>
  `message_search MATCH ${match} AND message_search.rowid > :after AND message_search.rowid < :before
      AND m.created_at >= :from AND m.created_at < :until`
const page = 'ORDER BY message_search.rowid DESC LIMIT :limit'
const placeColumns = `place.seq, place.thread_id, m.created_at AS at, m.channel_id, m.from_agent_id,
  ${agentOf('d')} AS to_agent_id`
const isPlaced = 'place.account_id = :account AND place.seq = message_search.rowid AND m.seq = place.seq'
const isDelivery = 'd.seq = m.seq'
// The rules of `mayRead`. A person may read messages to or from their alias, and others from a given time on.
const isReadable = `(:personAlias IN (m.from_agent_id, ${agentOf('d')}) OR m.created_at >= coalesce(
      json_extract(:channels, '$."' || m.channel_id || '"'), :others))`
// Cross joins, so that each query starts with the index, newest first.
const places = (condition = '') =>
  query<FoundPlace>(`
  SELECT * FROM (
    SELECT ${placeColumns}
    FROM message_search CROSS JOIN thread_messages AS place CROSS JOIN messages AS m
    LEFT JOIN deliveries AS d ON ${isDelivery} AND m.channel_id IS NULL
    WHERE ${
    isFound(':match')
  } ${condition} AND ${isPlaced} AND m.account_id = place.account_id AND ${isReadable} ${page})
  UNION ALL SELECT * FROM (
    SELECT ${placeColumns}
    FROM message_search CROSS JOIN thread_messages AS place CROSS JOIN messages AS m CROSS JOIN deliveries AS d
    WHERE ${isFound(':otherMatch')} ${condition} AND ${isPlaced} AND ${isDelivery} AND d.account_id = place.account_id
      AND m.account_id <> place.account_id AND ${isReadable} ${page})
  ORDER BY 1 DESC LIMIT :limit`)
const anyPlaces = places()
// `+` prevents the planner from querying the index for each unread message.
const unreadPlaces = places(`AND +message_search.rowid IN (
      SELECT deliveries.seq FROM deliveries
      WHERE deliveries.account_id = :account AND deliveries.inbox = ${inboxOf()} AND deliveries.state = 'unread')`)
const messageColumns = 'm.seq, m.id, m.recipient, m.from_alias, m.created_at'
// A sender must not learn what another account's guardrail redacted.
const ofAgent = query<FoundMessage>(`
  SELECT * FROM (
    SELECT ${messageColumns}, m.body, 0 AS is_changed FROM message_search CROSS JOIN messages AS m
    WHERE ${isFound(':match')} AND m.seq = message_search.rowid AND m.account_id = :account
      AND m.from_agent_id = :agent AND NOT ${isRedactedByOthers('m')} ${page})
  UNION ALL SELECT * FROM (
    SELECT ${messageColumns}, coalesce(deliveries.body, m.body) AS body, deliveries.body IS NOT NULL AS is_changed
    FROM message_search CROSS JOIN messages AS m CROSS JOIN deliveries
    WHERE ${isFound(':otherMatch')} AND m.seq = message_search.rowid AND deliveries.seq = m.seq
      AND deliveries.inbox = ${inboxOf()} AND m.from_agent_id <> :agent
      AND (deliveries.state = 'read' OR (deliveries.state = 'unread' AND ${isInTime})) ${page})
  ORDER BY 1 DESC LIMIT :limit`)

// Messages are stored in order of time, apart from clock differences. So a time is found by binary search.
const positionAt = (at: string) => `
  SELECT min(up_to) AS seq FROM (
    WITH RECURSIVE search(up_to, step) AS (
      SELECT 0, 1 << 40
      UNION ALL
      SELECT up_to + iif((SELECT m.created_at FROM messages AS m WHERE m.seq <= up_to + step
        ORDER BY m.seq DESC LIMIT 1) < ${at}, step, 0), step / 2
      FROM search WHERE step > 0
    ) SELECT up_to FROM search WHERE step = 0) AS found`
const upTo = crossAccountQuery<{ seq: number }>('position of a time in the log', positionAt(':at'))
// Starts when people were allowed to read messages, or when the user's alias joined its first channel, if earlier.
const upToReader = crossAccountQuery<{ seq: number }>(
  'position of a reader in the log',
  `WITH first AS MATERIALIZED (
    SELECT min(since) AS since FROM (
      SELECT people_read_since AS since FROM accounts WHERE id = :account
      UNION ALL SELECT min(channel_members.joined_at) FROM person_aliases
      JOIN channel_members ON channel_members.account_id = person_aliases.account_id AND channel_members.agent_id = person_aliases.agent_id
      WHERE person_aliases.account_id = :account AND person_aliases.user_id = :user) AS each)
  ${positionAt('(SELECT coalesce(first.since, 0) - :skew FROM first)')}`,
)

// Does not count held messages, because they have no position in the log yet.
const missing = query<{ messages: number }>(`
  SELECT sqlite_sequence.seq - projections.seq AS messages FROM sqlite_sequence JOIN projections
  WHERE sqlite_sequence.name = 'messages' AND projections.name = 'search'`)

export const search = {
  reads: (account: AccountDb) => ({
    /**
     * The positions of messages in the account that a person may read. With `unreadOf`, an agent's id, only messages
     * that this agent has not read.
     */
    places: (
      terms: SearchTerms,
      { personAlias, channels, others }: ReadableTimes,
      range: LogRange,
      unreadOf?: string,
    ): Promise<FoundPlace[]> => {
      const { accountId } = account
      // Adds the recipient's term: far fewer messages, above all unread ones, match a recipient than a word.
      const to = unreadOf === undefined ? [] : [idTerm('t', unreadOf)]
      const values = {
        match: matchOf(terms, personAlias ?? undefined, idTerm('a', accountId), ...to),
        otherMatch: matchOf(terms, undefined, idTerm('b', accountId), ...to),
        ...{ personAlias, others, channels: JSON.stringify(channels) },
        ...range,
      }
      return unreadOf === undefined
        ? account.all(anyPlaces, values)
        : account.all(unreadPlaces, { ...values, agent: unreadOf })
    },
    /** Messages that the agent sent, or that readers of its inbox may receive at the time `at`. */
    ofAgent: (agent: string, terms: SearchTerms, range: LogRange, at: number): Promise<FoundMessage[]> => {
      const match = matchOf(terms, undefined, idTerm('a', account.accountId), idTerm('f', agent))
      // Does not name an account, because messages that moved with the agent belong to a different one. The query uses
      // the delivery's account.
      const otherMatch = matchOf(terms, agent, idTerm('t', agent))
      return account.all(ofAgent, { match, otherMatch, agent, at, ...range })
    },
    /** Counts the log's messages, in all accounts, that are not indexed yet. */
    missing: async (): Promise<number> => (await account.one(missing))?.messages ?? 0,
    /** The number of the last message before those that the user may read without being sender or recipient. */
    positionOfReader: async (user: string, skew: number): Promise<number> =>
      (await account.one(upToReader, { user, skew }))!.seq,
    positionAt: async (at: number): Promise<number> => (await account.one(upTo, { at }))!.seq,
  }),
  changes: () => ({}),
}
