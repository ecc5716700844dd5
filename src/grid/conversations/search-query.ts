/** What people type to search messages: words, and filters such as `from:@alice`. */
import { minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'

/** Texts as they were typed; empty where nothing is asked for. */
export interface SearchQuery {
  /** Without the filters. */
  words: string
  from: string
  to: string
  /** A channel. */
  in: string
  /** Days, as `2026-11-24`. */
  after: string
  before: string
  /** `file`, `link`. */
  has: string[]
  isUnread: boolean
}

const filter = /(^|\s)(from|to|in|after|before|has|is):(\S+)/gi

/** Read the query; filters in the text come before the ones in fields of their own. */
export function parseSearch(query: URLSearchParams): SearchQuery {
  const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 200).toWellFormed().replaceAll('\0', '')
  const fields = new Map(['from', 'to', 'in', 'after', 'before', 'has', 'is'].map((name) => [name, given(name)]))
  const words = given('q').replace(filter, (_, space: string, name: string, value: string) => {
    fields.set(name.toLowerCase(), value)
    return space
  })
  const field = (name: string) => (fields.get(name) ?? '').toLowerCase()
  const day = (name: string) => /^\d{4}-\d\d-\d\d$/.test(field(name)) ? field(name) : ''
  const has = query.getAll('has').concat(field('has'))
  return {
    words: words.replace(/\s+/g, ' ').trim(),
    from: field('from').replace(/^@/, ''),
    to: field('to').replace(/^@/, ''),
    in: field('in').replace(/^#/, ''),
    after: day('after'),
    before: day('before'),
    has: ['file', 'link'].filter((kind) => has.includes(kind)),
    isUnread: field('is') === 'unread',
  }
}

/** How far the clocks of processes may differ. */
export const maxClockSkewMs = 5 * minute

/** The part of the log with the messages between two times, and the times. */
export async function rangeOf(
  account: AccountStore,
  { after, before }: { after?: number; before?: number },
  position = Number.MAX_SAFE_INTEGER,
): Promise<{ after: number; before: number; from: number; until: number }> {
  const [first, last] = await Promise.all([
    after === undefined ? 0 : positionSince(account, after),
    before === undefined ? position : account.read.search.positionAt(before + maxClockSkewMs),
  ])
  const times = { from: after ?? 0, until: before ?? Number.MAX_SAFE_INTEGER }
  return { after: first, before: Math.min(position, last + 1), ...times }
}

/** A position of the log before all messages since a time, also those that clocks put near it. */
async function positionSince(account: AccountStore, at: number): Promise<number> {
  return at <= 0 ? 0 : await account.read.search.positionAt(at - maxClockSkewMs)
}
