/**
 * Messages that end unread: they expire, their sender retracts them, or their recipient is deleted. See
 * docs/delivery.md, "Messages that end" and "Parked messages".
 */
import { deliver } from './deliver.ts'
import { agentOf, inboxOf } from './inbox-message.ts'
import { takeNotedAnswers } from './leases.ts'
import { logAgents } from './log.ts'
import { changeTask } from './task-changes.ts'
import { releaseUploads } from './uploads.ts'
import { type AccountDb, precondition, query, type Statement, statement } from '../sql.ts'

/** Condition: the message is on its way to a remote agent, or may have arrived. Tables: `deliveries`, `messages`. */
export const isSending = `EXISTS (SELECT 1 FROM remote_outboxes AS remote
  WHERE remote.account_id = deliveries.account_id AND remote.agent_id = ${agentOf()}
    AND remote.sending_id = messages.id)`

/** Condition: a remote agent received or may have received the message, and has not answered. */
const isRefused = `EXISTS (SELECT 1 FROM remote_tasks AS remote_task
  WHERE remote_task.account_id = deliveries.account_id AND remote_task.agent_id = ${agentOf()}
    AND remote_task.id = messages.id)`

const ofMessage = 'deliveries.seq = messages.seq'
const isRead = `EXISTS (SELECT 1 FROM deliveries WHERE ${ofMessage}
  AND (deliveries.state = 'read' OR (deliveries.state = 'unread' AND ${isSending})
    OR (deliveries.state = 'parked' AND ${isRefused})))`
// A task shows its recipient's messages immediately, so they count as read.
const isInTaskOfOther = `EXISTS (SELECT 1 FROM task_messages
  WHERE task_messages.sender_account_id = :account AND task_messages.message_id = messages.id
    AND task_messages.role <> 'user')`
const isSent = 'messages.account_id = :account AND messages.id = :id AND messages.from_agent_id = :from'

interface Retractable {
  recipient: string
  /** 0 or 1: a reader has received the message. */
  isRead: number
  /** The message's task, if the sender is the client; otherwise null. */
  taskId: string | null
}

const retractable = query<Retractable>(`
  SELECT messages.recipient, ${isRead} OR ${isInTaskOfOther} AS is_read,
    (SELECT task_messages.task_id FROM task_messages
      WHERE task_messages.sender_account_id = :account AND task_messages.message_id = messages.id
        AND task_messages.account_id = :account AND task_messages.role = 'user') AS task_id
  FROM messages WHERE ${isSent}`)
const requireUnread = precondition(`
  EXISTS (SELECT 1 FROM messages WHERE ${isSent} AND NOT ${isRead} AND NOT ${isInTaskOfOther})`)
const retract = statement(`
  UPDATE deliveries SET state = 'retracted', read_at = :at, body = NULL, a2a = NULL
  WHERE seq = (SELECT messages.seq FROM messages WHERE messages.account_id = :account AND messages.id = :id)
    AND state <> 'retracted'`)
const erase = statement(`
  UPDATE messages SET body = :body, a2a = NULL WHERE messages.account_id = :account AND messages.id = :id`)
const removeParts = statement(`DELETE FROM parts WHERE account_id = :account AND message_id = :id`)

const removeUploads = releaseUploads('SELECT :id')

const isExpiring = `messages.account_id = :account AND messages.seq = deliveries.seq
  AND (deliveries.seq, deliveries.inbox) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:places))`
const expire = statement(`
  UPDATE deliveries SET state = 'expired', read_at = :at, a2a = NULL FROM messages
  WHERE ${isExpiring} AND deliveries.state = 'unread' AND deliveries.expires_at <= :at AND NOT ${isSending}`)
const failTasks = changeTask({
  which: `tasks.account_id = :account AND (tasks.id, tasks.recipient_agent_id) IN (
    SELECT deliveries.task_id, ${agentOf()} FROM deliveries JOIN messages
    WHERE ${isExpiring} AND deliveries.state = 'expired')`,
  event: `'expired'`,
  state: `'failed'`,
  reason: `'Its message expired before it was read.'`,
})
// Counts parked deliveries as ended, because a parked message that is delivered again expires immediately.
const isOver = `messages.account_id = :account AND messages.id IN (SELECT value FROM json_each(:messages))
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE ${ofMessage}
    AND deliveries.state NOT IN ('expired', 'retracted', 'withdrawn', 'parked'))`
const removeExpiredParts = statement(`
  DELETE FROM parts WHERE account_id = :account
    AND message_id IN (SELECT messages.id FROM messages WHERE ${isOver})`)
const removeExpiredUploads = releaseUploads(`SELECT messages.id FROM messages WHERE ${isOver}`)
const eraseExpiredDetails = statement(`UPDATE messages SET a2a = NULL WHERE ${isOver} AND messages.a2a IS NOT NULL`)

// Wakes callers that wait in other processes.
const signal = statement(
  logAgents('agents.account_id = :account AND agents.id IN (SELECT value FROM json_each(:agents))'),
)

// Remote agents get no notice, because they cannot use it. A task's client gets none, because it sees the task fail.
const isSender = `sender.account_id = messages.account_id AND sender.id = messages.from_agent_id
  AND sender.deleted_at IS NULL AND sender.remote_url IS NULL`
const unreadOfSenders = `FROM deliveries
  JOIN messages ON messages.seq = deliveries.seq AND messages.channel_id IS NULL AND messages.type <> 'system'
  JOIN agents AS sender ON ${isSender}
  WHERE deliveries.inbox = ${inboxOf()} AND deliveries.state = 'unread'
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.account_id = messages.account_id
      AND tasks.id = deliveries.task_id AND tasks.mode <> 'receipt')`
// SQLite takes the other columns from the row with the greatest `seq`.
const unreadSenders = query<UnreadSender>(`
  SELECT sender.id AS agent_id, count(*) AS messages, max(deliveries.seq) AS seq ${unreadOfSenders}
  GROUP BY sender.account_id, sender.id`)
const requireAllSenders = precondition(`NOT EXISTS (
  SELECT 1 ${unreadOfSenders} AND sender.id NOT IN (SELECT value FROM json_each(:senders)))`)
const joinLast = `JOIN deliveries AS last ON last.inbox = ${inboxOf()} AND last.seq = notice.seq
  JOIN messages ON messages.seq = last.seq
  JOIN agents AS sender ON ${isSender}`
const notices = `(SELECT value ->> '$.id' AS id, value ->> '$.seq' AS seq, value ->> '$.body' AS body
  FROM json_each(:notices)) AS notice`
const addNotices = statement(`
  INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, reply_to_message_id,
    conversation_id, created_at, body)
  SELECT gone.account_id, notice.id, gone.id, gone.alias, 'system', '@' || sender.alias, messages.id,
    messages.conversation_id, :at, notice.body
  FROM ${notices} ${joinLast} JOIN agents AS gone ON gone.account_id = :account AND gone.id = :agent
  ON CONFLICT DO NOTHING`)
const deliverNotices = statement(deliver(
  { account: 'sender.account_id', agent: 'sender.id', message: 'added', chars: 'length(added.body)' },
  `${notices} ${joinLast} JOIN messages AS added ON added.account_id = :account AND added.id = notice.id WHERE true`,
  { external_id: 'iif(sender.account_id = :account, NULL, :agent)' },
))

// If a sender waits for an answer, the notice is that answer.
const isNotice = (message: string) => `${message}.id IN (SELECT value ->> '$.id' FROM json_each(:notices))`
const noteNotices = statement(`
  UPDATE leases SET seqs = json_array(awaited.seq)
  FROM (SELECT account_id, seq, lease_id, max(is_reply) FROM awaited_answers
    WHERE seq IN (SELECT messages.seq FROM messages WHERE messages.account_id = :account AND ${isNotice('messages')})
      AND state = 'unread'
    GROUP BY account_id, seq) AS awaited
  WHERE leases.account_id = awaited.account_id AND leases.id = awaited.lease_id`)
const takeNotices = statement(takeNotedAnswers(isNotice('answer')))

/** An agent with unread messages to a recipient: how many, and the position of the last of these messages. */
interface UnreadSender {
  agentId: string
  messages: number
  seq: number
}

/** The notice to a sender whose recipient is deleted. `seq` is the position of the sender's last unread message. */
export interface DeletionNotice {
  id: string
  sender: string
  seq: number
  body: string
}

/** An expired delivery, with its message and sender. */
export interface ExpiringDelivery {
  seq: number
  inbox: number
  messageId: string
  fromAgentId: string
  taskId: string | null
}

export const endings = {
  reads: (account: AccountDb) => ({
    /** The facts that decide whether an agent can retract a message; undefined if another agent sent it. */
    retractable: (id: string, from: string) => account.one(retractable, { id, from }),
    /** The senders of the agent's unread direct messages, who get a notice when it is deleted. */
    unreadSenders: (agent: string) => account.all(unreadSenders, { agent }),
  }),
  changes: (account: AccountDb) => ({
    /**
     * Retracts a message from all its recipients: `body` replaces its text, and its files are removed. Fails the unit
     * if a reader has received it. The caller cancels its task.
     */
    retract: (id: string, from: string, body: string, at: number): Statement[] => [
      account.bind(requireUnread, { id, from }),
      account.bind(retract, { id, at }),
      account.bind(erase, { id, body }),
      account.bind(removeParts, { id }),
      account.bind(removeUploads, { id }),
      account.bind(signal, { agents: JSON.stringify([from]) }),
    ],
    /** Tells the senders of unread messages that the agent is deleted. Fails the unit if `notices` omits a sender. */
    notifySenders: (agent: string, notices: readonly DeletionNotice[], at: number): Statement[] => {
      const senders = JSON.stringify(notices.map(({ sender }) => sender))
      const values = { agent, at, notices: JSON.stringify(notices) }
      const rows = notices.length
      return [
        account.bind(requireAllSenders, { agent, senders }),
        { ...account.bind(addNotices, values), rows },
        { ...account.bind(deliverNotices, values), rows },
        { ...account.bind(noteNotices, { notices: values.notices }), rows },
        { ...account.bind(takeNotices, { at, notices: values.notices }), rows },
      ]
    },
    /** Expires deliveries that are still unread, and fails their tasks. A message's last delivery removes its files. */
    expire: (found: readonly ExpiringDelivery[], at: number): Statement[] => {
      const messages = JSON.stringify([...new Set(found.map(({ messageId }) => messageId))])
      const agents = JSON.stringify([...new Set(found.map(({ fromAgentId }) => fromAgentId))])
      const values = { places: JSON.stringify(found.map(({ seq, inbox }) => [seq, inbox])), at }
      const areOfTasks = found.some(({ taskId }) => taskId !== null)
      return [
        { ...account.bind(expire, values), rows: found.length },
        ...areOfTasks ? failTasks.map((statement) => account.bind(statement, values)) : [],
        account.bind(removeExpiredParts, { messages }),
        account.bind(removeExpiredUploads, { messages }),
        account.bind(eraseExpiredDetails, { messages }),
        account.bind(signal, { agents }),
      ]
    },
  }),
}
