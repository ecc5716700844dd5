/** Agents' messages to people that wait for an answer. See docs/web.md, "Attention". */
import { type AccountDb, boolean, precondition, query, type Statement, statement } from '../sql.ts'
import { maxOfKind } from './attention.ts'
import { agentOf, inboxOf, isInTime } from './inbox-message.ts'

/** A conversation's messages are counted up to this number. */
export const maxWaiting = 100
/** Maximum number of a person's conversations, because each page counts their messages for its badge. */
export const maxQuestions = 50
const previewLength = 200
/** How many of an account's newest messages with choices are searched. */
const maxAsked = 1_000

/**
 * A conversation in which a person owes an answer: to messages since they last wrote, and to each open choice. Times
 * are milliseconds since the epoch.
 */
export interface Question {
  threadId: number
  /** How many messages wait, up to `maxWaiting`. */
  messages: number
  since: number
  /** The newest waiting message with choices, otherwise the first waiting message. `text` is its beginning. */
  seq: number
  /** The delivery of the newest waiting message. */
  deliverySeq: number
  sender: string
  text: string
  /** The choices that the message offers, as a JSON array, or null. */
  choices: string | null
  /** A dismissal up to this position covers everything sent to the person. */
  upTo: number
  /** How many conversations wait for the person. */
  total: number
}

const dismissedIn = (user: string, thread: string) =>
  `coalesce((SELECT seen.dismissed_seq FROM thread_seen AS seen WHERE seen.account_id = :account
    AND seen.user_id = ${user} AND seen.thread_id = ${thread}), 0)`

const isOpen = `deliveries.state IN ('unread', 'read') AND ${isInTime}`
const isAsked = `messages.type = 'agent' AND ${isOpen}`
/** The index of messages with choices uses this expression. `grid/send/content.ts` puts choices first. */
const hasChoices = `substr(messages.a2a, 1, 12) = '{"choices":['`
const firstAnswer = (what: string) => `
  (SELECT ${what} FROM messages AS answer
    WHERE answer.reply_to_message_id = messages.id AND +answer.account_id = :account
      AND answer.from_agent_id = ${agentOf()}
    ORDER BY answer.seq LIMIT 1)`

/**
 * Condition: an agent's message to a person waits, because the person has written nothing in its thread since, or
 * because it has choices and no answer.
 */
export const stillWaits = (agent: string, user: string, thread: string) =>
  `messages.seq > ${dismissedIn(user, thread)} AND ((${hasChoices} AND ${firstAnswer('1')} IS NULL)
    OR messages.seq > coalesce((SELECT part.answered_seq FROM thread_agents AS part WHERE part.account_id = :account
      AND part.agent_id = ${agent} AND part.thread_id = ${thread}), 0))`

// Messages with choices that people have not answered.
const asked = (whose: string) => `
  asked AS MATERIALIZED (
    SELECT person_aliases.agent_id, place.thread_id, messages.seq, messages.created_at
    FROM (SELECT messages.* FROM messages WHERE messages.account_id = :account AND ${hasChoices}
      ORDER BY messages.seq DESC LIMIT ${maxAsked}) AS messages
    CROSS JOIN deliveries CROSS JOIN person_aliases CROSS JOIN thread_messages AS place
    WHERE deliveries.seq = messages.seq
      AND deliveries.account_id = :account AND ${isAsked}
      AND person_aliases.account_id = :account AND person_aliases.agent_id = ${agentOf()} AND ${whose}
      AND place.account_id = :account AND place.seq = messages.seq
      AND messages.seq > ${dismissedIn('person_aliases.user_id', 'place.thread_id')} AND ${firstAnswer('1')} IS NULL)`
const askedIn = `FROM asked WHERE asked.agent_id = part.agent_id AND asked.thread_id = part.thread_id`

// The messages that wait in the conversation of the row `part`.
const waits = `
  FROM thread_messages AS place CROSS JOIN messages CROSS JOIN deliveries
  WHERE place.account_id = :account AND place.thread_id = part.thread_id AND place.seq > part.done
    AND messages.seq = place.seq AND deliveries.seq = messages.seq AND deliveries.account_id = :account
    AND deliveries.inbox = ${inboxOf('part.agent_id')} AND ${isAsked}`

// In most conversations that wait, the newest delivery is open. If it has ended, an older delivery may still be open.
const waiting = (whose: string, order: 'ASC' | 'DESC') => `
  WITH ${asked(whose)}, found AS MATERIALIZED (SELECT part.*, (
    SELECT json_object('n', min(count(*), ${maxWaiting}), 'since', min(one.created_at), 'newest', max(one.seq),
      'seq', coalesce((SELECT max(asked.seq) ${askedIn}), min(one.seq)))
    FROM (
      SELECT * FROM (SELECT messages.seq, messages.created_at ${waits} ORDER BY place.seq LIMIT ${maxWaiting})
      UNION SELECT asked.seq, asked.created_at ${askedIn}) AS one) AS waits
  FROM (
    SELECT part.*, row_number() OVER (PARTITION BY part.agent_id ORDER BY part.up_to ${order}) AS place,
      count(*) OVER (PARTITION BY part.agent_id) AS total FROM (
      SELECT person_aliases.user_id, person_aliases.agent_id, thread_agents.thread_id,
        max(thread_agents.answered_seq, coalesce(thread_seen.dismissed_seq, 0)) AS done,
        messages.seq AS up_to, ${isAsked} AS is_open
      FROM person_aliases CROSS JOIN thread_agents CROSS JOIN deliveries CROSS JOIN messages
      LEFT JOIN thread_seen ON thread_seen.account_id = :account AND thread_seen.user_id = person_aliases.user_id
        AND thread_seen.thread_id = thread_agents.thread_id
      WHERE person_aliases.account_id = :account AND ${whose}
        AND thread_agents.account_id = :account AND thread_agents.agent_id = person_aliases.agent_id
        AND deliveries.seq = thread_agents.delivery_seq AND deliveries.inbox = ${inboxOf('person_aliases.agent_id')}
        AND messages.seq = deliveries.seq) AS part
    WHERE (part.up_to > part.done AND (part.is_open OR EXISTS (SELECT 1 ${waits})))
      OR (part.agent_id, part.thread_id) IN (SELECT asked.agent_id, asked.thread_id FROM asked)) AS part
  WHERE part.place <= ${maxQuestions})`

const deliveryOf = (message: string) =>
  `deliveries.seq = ${message}.seq AND deliveries.inbox = ${inboxOf('found.agent_id')}`
const ofUser = query<Question>(`
  ${waiting('person_aliases.user_id = :user', 'DESC')}
  SELECT found.thread_id, found.waits ->> '$.n' AS messages, found.waits ->> '$.since' AS since, shown.seq,
    (SELECT deliveries.seq FROM messages AS newest CROSS JOIN deliveries
      WHERE newest.seq = found.waits ->> '$.newest' AND ${deliveryOf('newest')}) AS delivery_seq,
    shown.from_alias AS sender, substr(coalesce(deliveries.body, shown.body), 1, ${previewLength}) AS text,
    iif(json_valid(shown.a2a), shown.a2a -> '$.choices', NULL) AS choices, found.up_to, found.total
  FROM found
  CROSS JOIN messages AS shown CROSS JOIN deliveries
  WHERE shown.seq = found.waits ->> '$.seq' AND ${deliveryOf('shown')}
  ORDER BY since, shown.seq`)

/** Whether a person can still choose an answer to a message, and the details of their first answer. */
interface ChoiceState {
  seq: number
  isOpen: boolean
  answer: string | null
}

const isDelivered = `deliveries.seq = messages.seq
  AND deliveries.account_id = messages.account_id`
const choices = query<ChoiceState>(
  `
  SELECT messages.seq, ${isOpen} AS is_open, ${firstAnswer(`coalesce(answer.a2a, '{}')`)} AS answer
  FROM json_each(:seqs) AS listed CROSS JOIN messages CROSS JOIN deliveries
  WHERE messages.account_id = :account AND messages.seq = listed.value AND ${isDelivered}`,
  { isOpen: boolean },
)
const requireOpen = precondition(`EXISTS (
  SELECT 1 FROM messages CROSS JOIN deliveries
  WHERE messages.account_id = :account AND messages.id = :message AND ${isDelivered}
    AND deliveries.inbox = ${inboxOf()} AND ${isOpen} AND ${firstAnswer('1')} IS NULL)`)

/** A person who has not answered for a long time. */
export interface AwaitedPerson {
  userId: string
  agentId: string
  alias: string
  conversations: number
  messages: number
  since: number
}

const people = query<AwaitedPerson>(`
  ${waiting('true', 'ASC')}
  SELECT found.user_id, found.agent_id, agents.alias, count(*) AS conversations, sum(found.waits ->> '$.n') AS messages,
    min(found.waits ->> '$.since') AS since
  FROM found
  JOIN agents ON agents.account_id = :account AND agents.id = found.agent_id AND agents.deleted_at IS NULL
  WHERE found.waits ->> '$.since' <= :until
  GROUP BY found.agent_id ORDER BY since LIMIT ${maxOfKind}`)

const dismiss = statement(`
  INSERT INTO thread_seen (account_id, user_id, thread_id, seq, dismissed_seq)
  SELECT account_id, :user, id, 0, min(:seq, last_seq) FROM threads WHERE account_id = :account AND id = :thread
  ON CONFLICT (account_id, user_id, thread_id)
    DO UPDATE SET dismissed_seq = max(thread_seen.dismissed_seq, excluded.dismissed_seq)`)

export const questions = {
  reads: (account: AccountDb) => ({
    /** The newest conversations that wait for a user's answer, at most `maxQuestions`, longest waiting first. */
    ofUser: (user: string, at: number) => account.all(ofUser, { user, at }),
    /** People whose oldest unanswered message arrived at `until` or earlier. */
    people: (until: number, at: number) => account.all(people, { until, at }),
    /** The state of the account's direct messages with choices. */
    choices: (seqs: number[], at: number) => account.all(choices, { seqs: JSON.stringify(seqs), at }),
  }),
  changes: (account: AccountDb) => ({
    /** Dismisses everything up to a message. Does nothing if the account has no such thread. */
    dismiss: (user: string, thread: number, seq: number): Statement => account.bind(dismiss, { user, thread, seq }),
    /** Fails the unit unless the agent may still answer the message and has not replied to it. */
    requireOpen: (agent: string, message: string, at: number): Statement =>
      account.bind(requireOpen, { agent, message, at }),
  }),
}
