/**
 * The projection `search`: message words in `message_search`, an FTS5 table that drizzle does not know. Its rows
 * correspond to `messages`. Triggers remove them with their messages and when a text is erased.
 */
import { agentOf } from '../account/inbox-message.ts'
import { noteNews, type PossibleNews } from './news.ts'
import { wordTerm } from '../account/search.ts'
import { crossAccountQuery, crossAccountStatement, type Db, type Statement } from '../sql.ts'

/** A placed message whose words are to be stored. */
interface NewText {
  seq: number
  id: string
  body: string
  a2a: string | null
  channelId: string | null
  /** A list of `ChangedText`, as JSON. */
  changed: string
}

/** The version that some agents received, if a guardrail changed the text for them. */
export interface ChangedText {
  agents: string[]
  body: string
}

/**
 * Maximum number of versions indexed per message. Agents with further versions cannot find the message by its words.
 */
const maxChanged = 20

const texts = crossAccountQuery<NewText>(
  'texts of new messages',
  `
  SELECT messages.seq, messages.id, messages.body, messages.a2a, messages.channel_id,
    (SELECT json_group_array(json_object('agents', json(one.agents), 'body', one.body)) FROM (
      SELECT json_group_array(${agentOf('d')}) AS agents, d.body FROM deliveries AS d
      WHERE d.seq = messages.seq AND d.body IS NOT NULL
      GROUP BY d.body LIMIT ${maxChanged}) AS one) AS changed
  FROM messages WHERE messages.seq > :after AND messages.seq <= :upTo ORDER BY messages.seq`,
)

// Damaged rows count as empty, so that they do not block the index for all accounts.
const part = `iif(one.type = 'object', one.value, '{}')`
const whole = crossAccountQuery<{ text: string | null }>(
  'texts of new messages',
  `
  SELECT group_concat(coalesce(parts.content, ${part} ->> 'text'), char(10)) AS text
  FROM messages CROSS JOIN json_each(iif(json_valid(messages.a2a), messages.a2a, '{}'), '$.parts') AS one
  LEFT JOIN parts ON parts.account_id = messages.account_id AND parts.message_id = messages.id
    AND parts.id = ${part} ->> 'part_id' AND ${part} ->> 'kind' = 'text'
  WHERE messages.seq = :seq`,
)

/**
 * A term is a letter, followed by an id without hyphens or a text in hexadecimal, so that the tokenizer does not split
 * it. `a`: the sender's account; `b`: another account that received the unchanged text; `f`: the sender; `t`: a
 * recipient; `x`: a recipient with its own version; `n`: the sender's alias; `r`: the recipient as addressed; `c`: the
 * channel. These letters are followed by a word: `h`: a kind of content; `w`: a word of the text; `k`: a word of the
 * version delivered to an agent, whose id comes first.
 */
const term = (kind: string, value: string) => `' ${kind}' || hex(${value})`
const idTerm = (kind: string, id: string) => `' ${kind}' || replace(${id}, '-', '')`
const isPosition = `(SELECT projections.seq FROM projections WHERE projections.name = 'search') = :after`
const add = crossAccountStatement(
  'words of new messages',
  `
  INSERT INTO message_search (rowid, terms)
  SELECT m.seq,
    ${idTerm('a', 'm.account_id')} || ${idTerm('f', 'm.from_agent_id')} || ${term('n', 'm.from_alias')}
      || ${term('r', 'm.recipient')} || iif(m.channel_id IS NULL, '', ${idTerm('c', 'm.channel_id')})
      || coalesce((SELECT group_concat(${idTerm('t', agentOf('d'))}
          || iif(d.body IS NULL, iif(d.account_id = m.account_id, '', ${idTerm('b', 'd.account_id')}),
            ${idTerm('x', agentOf('d'))}), '')
        FROM deliveries AS d WHERE d.seq = m.seq), '')
      || (one.value ->> 1)
  FROM json_each(:rows) AS one CROSS JOIN messages AS m
  WHERE m.seq = (one.value ->> 0) AND ${isPosition}
    AND NOT EXISTS (SELECT 1 FROM deliveries AS d
      WHERE d.seq = m.seq AND d.state = 'retracted')`,
)
const again = [
  `INSERT INTO message_search (message_search) VALUES ('delete-all')`,
  `UPDATE projections SET seq = 0 WHERE name = 'search'`,
].map((text) => crossAccountStatement('words to store again', text))

/** A message's words, and the kinds of its other content. */
export interface MessageWords extends PossibleNews {
  words: readonly string[]
  has: readonly string[]
  /** Terms for deliveries with their own version, as built by `ownWord` and `ownLink` of `account/search.ts`. */
  own: readonly string[]
}

export const searchIndex = (db: Db) => ({
  /** The texts of a batch's messages. */
  texts: ({ after, upTo }: { after: number; upTo: number }): Promise<NewText[]> => db.all(texts, { after, upTo }),
  /** The text of a message whose row contains only the beginning. Combines all texts among its parts. */
  wholeText: async (seq: number): Promise<string> => (await db.one(whole, { seq }))?.text ?? '',
  /** Stores words, unless the follower has advanced beyond `after`. */
  add: (found: readonly MessageWords[], after: number): Statement => {
    const rows = JSON.stringify(found.map(({ seq, words, has, own }) => {
      return [seq, [...words.map(wordTerm), ...has.map((kind) => `h${kind}`), ...own].map((one) => ` ${one}`).join('')]
    }))
    return { ...db.bind(add, { rows, after }), rows: found.length, isTraffic: true }
  },
  /** Records the people who are notified of these messages, in the same transaction. */
  noteNews: (possible: readonly PossibleNews[], batch: { after: number; at: number }): Statement =>
    noteNews(db, possible, batch),
  /** Empties the index, which is then filled again from the first message. */
  startAgain: (): Statement[] => again.map((statement) => db.bind(statement)),
})
