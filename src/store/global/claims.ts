/** Claims a provisional account, and moves agents from it into another account of the owner. */
import type { Row } from '@libsql/client'
import type { accounts } from '../../../db/schema.ts'
import { addAgent, deleteAgents } from '../account/agent-rows.ts'
import { makeInboxDue } from '../account/deliver.ts'
import { agentOf, inboxOf } from '../account/inbox-message.ts'
import { changeTask, moveTasks } from '../account/task-changes.ts'
import { crossAccountQuery, type Db, precondition, type Query, query, type Statement, statement } from '../sql.ts'
import { placing, positionOf } from './conversations.ts'
import { counting } from './traffic.ts'

/** A user's claim. `email` is the owner address, which the user must have verified. */
export interface Claim {
  /** The provisional account. */
  from: string
  /** The account's new name. */
  name: string
  user: string
  email: string
  /** The ids of the agents that the user has decided about. */
  decided: string[]
  at: number
}

/** An agent that signed up, as shown to its owner before the claim. Times are milliseconds since the epoch. */
export interface ClaimableAgent {
  id: string
  alias: string
  description: string
  createdAt: number
  lastSeenAt: number | null
  address: string | null
}

/** A provisional account, and the normalised email address that its signups name. */
interface OwnedSignups {
  provisionalId: string
  ownerEmail: string
}

/** Agents that signed up for an address. */
export interface ClaimOffer {
  /** The oldest provisional account that contains some of the agents. */
  provisionalId: string
  /** The number of these agents, counted in all provisional accounts. */
  agents: number
  /** When the first of their trials ends, in milliseconds since the epoch; null if all have ended. */
  trialEndsAt: number | null
}

/** Approximate maximum of rows written per statement of a move: 20 agents on trial that sent 10 messages each. */
const movedRows = 200

const byToken = crossAccountQuery<OwnedSignups & { state: typeof accounts.$inferSelect.state }>(
  'signup by claim link',
  `
  SELECT accounts.id AS provisional_id, accounts.state, signups.owner_email
  FROM signups JOIN accounts ON accounts.id = signups.account_id
  WHERE signups.claim_token_hash = :hash`,
)
const offer = crossAccountQuery<ClaimOffer>(
  'agents that signed up for an address',
  `
  SELECT accounts.id AS provisional_id, sum(count(*)) OVER () AS agents, min(min(trials.expires_at)) OVER () AS trial_ends_at
  FROM accounts
  JOIN agents ON agents.account_id = accounts.id AND agents.deleted_at IS NULL
  LEFT JOIN trials ON trials.account_id = agents.account_id AND trials.agent_id = agents.id
    AND trials.ended_at IS NULL
  WHERE accounts.state = 'provisional'
    AND accounts.id IN (SELECT signups.account_id FROM signups WHERE signups.owner_email = :email)
  GROUP BY accounts.id ORDER BY accounts.created_at, accounts.id LIMIT 1`,
)
const offered = query<OwnedSignups>(`
  SELECT accounts.id AS provisional_id, signups.owner_email
  FROM signups JOIN accounts ON accounts.id = signups.account_id
  WHERE signups.account_id = :account AND signups.owner_email = :email AND accounts.state = 'provisional'
  LIMIT 1`)
const live = query<ClaimableAgent>(`
  SELECT agents.id, agents.alias, agents.description, agents.created_at, agents.last_seen_at, signups.address
  FROM agents
  LEFT JOIN signups ON signups.account_id = agents.account_id AND signups.id = agents.signup_id
  WHERE agents.account_id = :from AND agents.deleted_at IS NULL
  ORDER BY agents.created_at, agents.id`)

const requireUnclaimed = precondition(
  `EXISTS (SELECT 1 FROM accounts WHERE id = :from AND state = 'provisional')`,
)
const requireVerifiedEmail = precondition(
  `EXISTS (SELECT 1 FROM users WHERE id = :user AND email = :email AND email_verified_at IS NOT NULL)`,
)
// The decision must cover every live agent, so that no agent that signed up later is claimed unseen.
const requireDecided = precondition(`
  (SELECT count(*) FROM agents WHERE account_id = :from AND deleted_at IS NULL
    AND id NOT IN (SELECT value FROM json_each(:decided))) = 0
  AND (SELECT count(*) FROM agents WHERE account_id = :from AND deleted_at IS NULL
    AND id IN (SELECT value FROM json_each(:decided))) = json_array_length(:decided)`)
const requireOwner = precondition(
  `EXISTS (SELECT 1 FROM memberships WHERE account_id = :to AND user_id = :user AND role = 'owner')`,
)
const endTrials = statement(`DELETE FROM trials WHERE account_id = :from`)
const close = statement(`
  UPDATE accounts SET state = 'claimed', name = :name, join_email = NULL, claimed_at = :at WHERE id = :from`)

const columns = query<{ name: string }>(`SELECT name FROM pragma_table_info(:table)`)

const isMoved = (agent: string) => `${agent} IN (SELECT value FROM json_each(:moved))`
const move = (table: string, condition: string) =>
  `UPDATE ${table} SET account_id = :to WHERE account_id = :from AND ${condition}`
const senderOf = '(SELECT messages.from_agent_id FROM messages WHERE messages.seq = deliveries.seq)'
const isSkillOfMoved = `id IN (SELECT agent_skills.skill_id FROM agent_skills
  WHERE agent_skills.account_id = :from AND ${isMoved('agent_skills.agent_id')})`
const isOpenTask = `tasks.account_id = :from AND tasks.expires_at IS NOT NULL`

/**
 * The changed fields of an agent's new row. It is inserted as deleted, because two live agents cannot share an alias,
 * even temporarily. It has no token, because the token was encrypted for the old account only.
 */
const changedColumns = {
  signup_id: 'NULL',
  deleted_at: ':at',
  encrypted_token: 'NULL',
  token_iv: 'NULL',
  token_auth_tag: 'NULL',
  token_key_id: 'NULL',
}

/**
 * Runs after the agents' new rows were inserted with the same ids. Messages stay where they were sent. Two kinds of
 * deliveries move: those to be read or answered, and those between moving agents, with their conversations.
 */
const moves = [
  // The new account may already have a skill with the same name and a different id.
  `UPDATE agent_skills SET account_id = :to, skill_id = (
    SELECT own.id FROM skills AS own WHERE own.account_id = :to AND own.name = (
      SELECT skills.name FROM skills WHERE skills.account_id = :from AND skills.id = agent_skills.skill_id))
  WHERE account_id = :from AND ${isMoved('agent_id')}`,
  move('credentials', isMoved('agent_id')),
  move('idempotency_keys', `${isMoved('agent_id')} AND created_at > :keysSince`),
  move('uploads', `${isMoved('agent_id')} AND message_id IS NULL`),
  move('blocked_sends', `${isMoved('agent_id')} AND created_at > :keysSince`),
  ...changeTask({
    which: `${isOpenTask} AND ${isMoved('tasks.client_agent_id')}`,
    event: `'moved'`,
    state: `'canceled'`,
    reason: `'The agent that asked was moved to another account.'`,
  }),
  // The lease's holder would ack it in the old account, so the lease is released and its messages are redelivered.
  `UPDATE deliveries SET state = 'unread', lease_id = NULL, read_at = NULL, release_count = release_count + 1
  FROM (SELECT leases.id, agent_numbers.n, one.value AS seq
    FROM leases JOIN agent_numbers ON agent_numbers.account_id = :from AND agent_numbers.agent_id = leases.agent_id
    JOIN json_each(leases.seqs) AS one
    WHERE leases.account_id = :from AND ${isMoved('leases.agent_id')}) AS held
  WHERE deliveries.seq = held.seq AND deliveries.inbox = held.n AND deliveries.lease_id = held.id`,
  `DELETE FROM leases WHERE account_id = :from AND ${isMoved('agent_id')}`,
  // Searches by message, because no index contains all of an agent's deliveries.
  `UPDATE deliveries SET account_id = :to, inbox = ${inboxOf(agentOf(), ':to')}, external_id = ${senderOf},
    external_message_id = (SELECT messages.id FROM messages WHERE messages.seq = deliveries.seq)
  WHERE seq IN (SELECT messages.seq FROM messages WHERE messages.account_id = :from)
    AND account_id = :from AND ${isMoved(agentOf())} AND (state IN ('unread', 'parked') OR ${isMoved(senderOf)}
      OR task_id IN (SELECT tasks.id FROM tasks WHERE ${isOpenTask} AND ${isMoved('recipient_agent_id')}))`,
  // Lease releases move together with the deliveries of their inboxes.
  `UPDATE lease_releases SET account_id = :to WHERE account_id = :from AND inbox IN (
    SELECT agent_numbers.n FROM agent_numbers WHERE agent_numbers.account_id = :to AND ${
    isMoved('agent_numbers.agent_id')
  })`,
  // The agents that stay may answer messages of the agents that move.
  `UPDATE deliveries SET external_id = ${senderOf}
  WHERE account_id = :from AND seq IN (
    SELECT messages.seq FROM messages WHERE messages.account_id = :from AND ${isMoved('messages.from_agent_id')})`,
  makeInboxDue(`remote.account_id = :to AND ${isMoved('remote.agent_id')}`),
  moveTasks(`${isOpenTask} AND recipient_account_id = :from AND ${isMoved('recipient_agent_id')}`),
  // The positions of the messages are rebuilt in both accounts.
  `DELETE FROM thread_messages WHERE account_id = :from
    AND thread_id IN (SELECT threads.id FROM threads WHERE threads.account_id = :from)`,
  ...['traffic', 'thread_agents', 'threads'].map((table) => `DELETE FROM ${table} WHERE account_id = :from`),
].map((made) => typeof made === 'string' ? statement(made) : made).concat(
  placing(
    'places of messages that move',
    `m.account_id = :from AND m.seq BETWEEN 1 AND ${positionOf('conversations')}`,
  ),
  counting('counts of messages that move', `m.account_id = :from AND m.seq BETWEEN 1 AND ${positionOf('traffic')}`),
  deleteAgents(':from', isMoved('agents.id'), ', moved_to = :to'),
  statement(`UPDATE agents SET deleted_at = NULL WHERE account_id = :to AND ${isMoved('id')}`),
)

export const claims = (db: Db) => {
  /** The SQL after `INSERT INTO`, which copies rows of a table from the account `:from` to `:to`, with all columns. */
  const copied = async (table: string, condition: string, changed: Record<string, string> = {}) => {
    const names = (await db.all(columns, { table })).map(({ name }) => name)
    const values = names.map((name) => ({ account_id: ':to', ...changed })[name] ?? name)
    return `(${names.join(', ')}) SELECT ${values.join(', ')} FROM ${table}
      WHERE account_id = :from AND ${condition} ON CONFLICT DO NOTHING`
  }
  let copies: Query<Row>[] | undefined
  return {
    /** The account of a claim link. */
    byToken: (hash: string) => db.one(byToken, { hash }),
    /** The live agents that signed up for the email address. */
    offer: (email: string) => db.one(offer, { email }),
    /** The provisional account, if its agents signed up for the email address. */
    offered: (account: string, email: string) => db.one(offered, { account, email }),
    /** The live agents of a provisional account, oldest first. */
    agents: (from: string) => db.all(live, { from }),
    /**
     * Turns the provisional account into a claimed one. Fails the unit unless it is provisional, the user has verified
     * the email address and `decided` names exactly its live agents. The caller adds the user's membership.
     */
    claim: ({ from, user, email, decided, name, at }: Claim): Statement[] => [
      db.bind(requireUnclaimed, { from }),
      db.bind(requireVerifiedEmail, { user, email }),
      db.bind(requireDecided, { from, decided: JSON.stringify(decided) }),
      db.bind(endTrials, { from }),
      db.bind(close, { from, name, at }),
    ],
    /**
     * Moves agents into the account `to`: alias, settings, skills, keys, unread messages, messages between these
     * agents, the open tasks that they work on, and the idempotency keys since `keysSince`. Their other open tasks are
     * canceled. Fails the unit unless the user owns `to`. The log wakes the agents and the followers of the tasks.
     */
    move: async (
      { from, user, at }: Claim,
      { to, moved, keysSince }: { to: string; moved: string[]; keysSince: number },
    ): Promise<Statement[]> => {
      copies ??= [
        ...addAgent(
          await copied('agents', isMoved('id'), changedColumns),
          `agents.account_id = :to AND ${isMoved('agents.id')}`,
        ),
        statement(`INSERT INTO skills ${await copied('skills', isSkillOfMoved)}`),
      ]
      const values = { from, to, moved: JSON.stringify(moved), keysSince, at }
      return [
        db.bind(requireOwner, { to, user }),
        ...[...copies, ...moves].map((statement) => ({
          ...db.bind(statement, values),
          rows: movedRows,
        })),
      ]
    },
  }
}
