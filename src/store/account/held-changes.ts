/** The statements that hold a message, decide on it, and deliver it. See docs/protocol/messages.md, "Held messages". */
import { type AccountDb, precondition, type Statement, statement } from '../sql.ts'
import { isWhole, userMayDecide } from './deciders.ts'
import { deliver } from './deliver.ts'
import type { NewHeld } from './new-held.ts'
import type { TaskState } from './task-ends.ts'

export interface Decided {
  state: 'approved' | 'refused' | 'expired'
  user: string | null
  decider: string | null
  reason: string | null
  edited: boolean
  at: number
}

const isMessage = 'messages.account_id = :account AND messages.id = :message'
const add = statement(`
  INSERT INTO held_messages (account_id, id, sender_account_id, message_id, from_agent_id, to_id, task_id, state, rule,
    findings, later, sent_at, held_at, expires_at)
  SELECT :heldIn, :id, :account, messages.id, messages.from_agent_id, :toId, :task, 'held', :rule, :findings, :later,
    :sentAt, :at, :expiresAt
  FROM messages WHERE ${isMessage}
  ON CONFLICT DO NOTHING`)
const logHeld = statement(`
  INSERT INTO log (kind, subject, home, at)
  SELECT 'held', held.id, held.account_id, held.held_at FROM held_messages AS held
  WHERE held.sender_account_id = :account AND held.message_id = :message AND held.id = :id AND held.state = 'held'`)
const isHeldBy = (held: string) =>
  `EXISTS (SELECT 1 FROM held_messages WHERE held_messages.sender_account_id = :account
    AND held_messages.message_id = :message AND held_messages.id = ${held} AND held_messages.state = 'held')`
const setAside = statement(`UPDATE messages SET seq = -abs(seq) WHERE ${isMessage} AND ${isHeldBy(':id')}`)

// A retried unit finds its own decision and succeeds again.
const requireUndecided = precondition(`EXISTS (
  SELECT 1 FROM held_messages AS held WHERE held.account_id = :account AND held.id = :held AND (
    (held.state = 'held' AND (:user IS NULL OR held.expires_at > :at AND ${isWhole} AND ${userMayDecide}))
    OR (held.state = :state AND held.decided_by IS :user AND held.decided_at = :at)))`)
const decide = statement(`
  UPDATE held_messages SET state = :state, decided_at = :at, decided_by = :user, decider = :decider, reason = :reason,
    edited = :edited
  WHERE account_id = :account AND id = :held AND state = 'held'`)
// The followers have not seen the message yet, so it gets the next log number. Each number is used once.
const nextNumber = statement(`UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'messages'`)
const number = statement(`
  UPDATE messages SET seq = (SELECT sqlite_sequence.seq FROM sqlite_sequence WHERE sqlite_sequence.name = 'messages'),
    created_at = :at, body = :body, a2a = :a2a, flagged = :flagged, shared_with = :sharedWith,
    edited = edited OR :edited
  WHERE messages.account_id = :account AND messages.id = :message AND messages.seq < 0`)
const change = statement(`
  UPDATE messages SET body = :body, a2a = :a2a, flagged = :flagged, shared_with = :sharedWith, edited = edited OR :edited
  WHERE messages.account_id = :account AND messages.id = :message AND messages.seq < 0`)
const removeParts = statement(`DELETE FROM parts WHERE account_id = :account AND message_id = :message`)
const endOf = (which: string) =>
  statement(`
    UPDATE held_messages SET state = :state, decided_at = :at
    WHERE sender_account_id = :account AND state = 'held' AND ${which}`)
const retract = endOf('message_id = :message')
const join = endOf('id = :held')
const requireHeld = precondition(`EXISTS (SELECT 1 FROM held_messages AS held
  WHERE held.sender_account_id = :account AND held.id = :held AND (held.state = 'held' OR EXISTS (
    SELECT 1 FROM messages WHERE ${isMessage})))`)
const endChunk = statement(`
  UPDATE held_messages SET later = json_set(later, '$.step.chunk.lastChunk', json('true'), '$.step.state', :state)
  WHERE sender_account_id = :account AND id = :held AND state = 'held'`)

// The sender notifies itself, because the recipient must not learn of the outcome. Remote agents get no notice.
const addNotice = statement(`
  INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, reply_to_message_id, created_at, body)
  SELECT messages.account_id, :notice, agents.id, agents.alias, 'system', '@' || agents.alias, messages.id, :at, :text
  FROM messages JOIN agents ON agents.account_id = messages.account_id AND agents.id = messages.from_agent_id
    AND agents.deleted_at IS NULL AND agents.remote_url IS NULL
  WHERE ${isMessage}
  ON CONFLICT DO NOTHING`)
const deliverNotice = statement(deliver(
  { account: 'messages.account_id', agent: 'messages.from_agent_id' },
  'messages WHERE messages.account_id = :account AND messages.id = :id',
))

/** The fields of a message that a decision may change. */
export interface ChangedText {
  body: string
  a2a: string | null
  flagged: boolean
  sharedWith: string | null
  edited: boolean
}

export function heldChanges(account: AccountDb) {
  return {
    /** Holds a message that this unit stores, or that another account already holds. */
    add: ({ id, heldIn, toId, rule, findings, later, sentAt, expiresAt }: NewHeld, message: string, at: number) => [
      account.bind(add, {
        ...{ id, message, toId, at, sentAt, expiresAt, heldIn: heldIn ?? account.accountId },
        ...{ task: later.step ? later.taskId : null, later: JSON.stringify(later) },
        ...{ rule: JSON.stringify(rule), findings: JSON.stringify(findings) },
      }),
      account.bind(setAside, { id, message }),
      account.bind(logHeld, { id, message }),
    ],
    /** Fails the unit unless the message is held, and the user may decide on it now. */
    decide: (held: string, { user, decider, state, reason, edited, at }: Decided): Statement[] => [
      account.bind(requireUndecided, { held, user, state, at }),
      account.bind(decide, { held, state, at, user, decider, reason, edited }),
    ],
    /** Numbers the message as the newest one, because it is delivered now. For the sender's account. */
    number: (message: string, text: ChangedText, at: number): Statement[] => [
      account.bind(nextNumber),
      account.bind(number, { message, at, ...text }),
    ],
    /** Stores a decision's changes to a message that stays held. For the sender's account. */
    change: (message: string, text: ChangedText): Statement => account.bind(change, { message, ...text }),
    removeParts: (message: string): Statement => account.bind(removeParts, { message }),
    retract: (message: string, at: number): Statement => account.bind(retract, { message, at, state: 'retracted' }),
    /** Fails a message's unit unless these chunks are held, because the message includes their content. */
    requireHeld: (held: string, message: string): Statement => account.bind(requireHeld, { held, message }),
    join: (held: string, at: number): Statement => account.bind(join, { held, at, state: 'joined' }),
    /** Records that the artifact of these chunks has ended, with its task's state. */
    endChunk: (held: string, state: TaskState | null): Statement => account.bind(endChunk, { held, state }),
    /** Notifies the sender of the outcome. For the sender's account. */
    notify: (notice: string, message: string, text: string, at: number): Statement[] => [
      account.bind(addNotice, { notice, message, text, at }),
      account.bind(deliverNotice, { id: notice, chars: text.length, at }),
    ],
  }
}
