/** Full-text search of an agent's own messages. See docs/protocol/mcp.md, "search_messages". */
import { callingAgent } from '../../auth/actor.ts'
import { invalidInput } from '../../errors.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { excerptOf, isShort, queryWords } from '../../lib/search-words.ts'
import { isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { rangeOf } from './log-range.ts'
import { timeOf } from './read-again.ts'

const usualLimit = 10
const maxLimit = 50

const shortWordsNote = 'Words of one or two letters must match completely.'

interface SearchInput {
  /** The words of the query. A match contains all of them, in any order. */
  query: string
  /** An alias, with or without `@`. */
  from?: string
  /** `@alias` or `#channel`. */
  to?: string
  /** ISO 8601 times, or durations such as `2d`. */
  before?: string
  after?: string
  limit?: number
  cursor?: string
}

interface MessageHit {
  message_id: string
  channel: string
  user: string
  timestamp: string
  text: string
}

/**
 * Returns messages of the calling agent with all words of the query, newest first. Unread messages stay unread. Fails
 * with `invalid_input`.
 */
export async function searchMessages(
  account: AccountStore,
  input: SearchInput,
): Promise<{ messages: MessageHit[]; cursor?: string; note?: string }> {
  const { agentId } = callingAgent(account.actor)
  const words = queryWords(withoutInvisible(input.query))
  if (words.length === 0) throw invalidInput('query needs a word.', 'query')
  const now = account.deps.now()
  const [after, before] = (['after', 'before'] as const).map((field) => {
    const text = input[field]
    const at = text === undefined ? undefined : timeOf(text, now)
    if (text !== undefined && at === undefined) {
      throw invalidInput(`${field} accepts an ISO time, or a duration such as 2d.`, field)
    }
    return at
  })
  const range = await rangeOf(account, { after, before }, positionOf(input.cursor))
  const limit = Math.min(input.limit ?? usualLimit, maxLimit)
  const terms = {
    words,
    from: input.from?.replace(/^@/, '').toLowerCase(),
    to: input.to?.replace(/^(?![@#])/, '@').toLowerCase(),
  }
  const found = await account.read.search.ofAgent(agentId, terms, { ...range, limit: limit + 1 }, now)
  const page = found.slice(0, limit)
  return {
    messages: page.map(({ id, recipient, fromAlias, createdAt, body }) => ({
      message_id: id,
      channel: recipient.startsWith('#') ? recipient : 'direct',
      user: `@${fromAlias}`,
      timestamp: isoTime(createdAt),
      text: excerptOf(withoutInvisible(body), words).map(({ text }) => text).join(''),
    })),
    ...(words.some(isShort) && { note: shortWordsNote }),
    ...(found.length > limit && { cursor: page.at(-1)!.seq.toString(36) }),
  }
}

function positionOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  if (/^[0-9a-z]{1,10}$/.test(cursor)) return parseInt(cursor, 36)
  throw invalidInput('cursor must be a cursor that you were given, unchanged.', 'cursor')
}
