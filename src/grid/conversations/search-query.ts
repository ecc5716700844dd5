/** Parses message searches: words, and filters such as `from:@alice`. */

/** Texts as typed; empty for unused filters. */
export interface SearchQuery {
  /** The words without the filters. */
  words: string
  from: string
  to: string
  /** The name of a channel. */
  in: string
  /** Days such as `2026-11-24`. */
  after: string
  before: string
  /** Any of `file` and `link`. */
  has: string[]
  isUnread: boolean
}

const filter = /(^|\s)(from|to|in|after|before|has|is):(\S+)/gi

/** Parses the query; filters in the text override separate fields. */
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
