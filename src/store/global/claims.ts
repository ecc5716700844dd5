/** Claiming a provisional account: as an account of its own, or merged into another account of the owner. */
import type { accounts } from '../../../db/schema.ts'
import { inboxOf } from '../account/inbox-message.ts'
import { crossAccountQuery, type Db, precondition, query, type Statement, statement } from '../sql.ts'
import { followed, placing } from './thread-projection.ts'

/**
 * A claim by a user. `keep` and `discard` are agent ids; `email` is the owner address, which the user must have
 * verified.
 */
export interface Claim {
  /** The provisional account. */
  from: string
  user: string
  email: string
  keep: string[]
  discard: string[]
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

interface ClaimedAccount {
  home: string
  name: string
  state: typeof accounts.$inferSelect.state
  ownerEmail: string
}

/** About how many rows a statement of a merge writes at most: 20 agents on trial sent 10 messages each. */
const movedRows = 200

const byToken = crossAccountQuery<ClaimedAccount>(
  'signup by claim link',
  `
  SELECT accounts.id AS home, accounts.name, accounts.state, signups.owner_email
  FROM signups JOIN accounts ON accounts.id = signups.account_id
  WHERE signups.claim_token_hash = :hash`,
)
const offer = crossAccountQuery<{ id: string; agents: number; trialEndsAt: number | null }>(
  'agents that signed up for an address',
  `
  SELECT accounts.id, sum(count(*)) OVER () AS agents, min(min(trials.expires_at)) OVER () AS trial_ends_at
  FROM accounts
  JOIN agents ON agents.account_id = accounts.id AND agents.deleted_at IS NULL
  LEFT JOIN trials ON trials.account_id = agents.account_id AND trials.agent_id = agents.id
    AND trials.ended_at IS NULL
  WHERE accounts.state = 'provisional'
    AND accounts.id IN (SELECT signups.account_id FROM signups WHERE signups.owner_email = :email)
  GROUP BY accounts.id ORDER BY accounts.created_at, accounts.id LIMIT 1`,
)
const offered = query<{ home: string; ownerEmail: string }>(`
  SELECT accounts.id AS home, signups.owner_email
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
// The decision must cover every live agent. The owner has not seen an agent that signed up meanwhile.
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
  UPDATE accounts SET state = :state, name = :name, join_email = NULL, claimed_at = :at WHERE id = :from`)

const isKept = (agent: string) => `${agent} IN (SELECT value FROM json_each(:keep))`
const sentByKept = `(
  SELECT messages.id FROM messages WHERE messages.account_id = :from AND ${isKept('messages.from_agent_id')})`

/** Copies rows into the other account. A column that is not named is lost when accounts are merged. */
const copy = (table: string, same: string, changed: Record<string, string>, condition: string) => `
  INSERT INTO ${table} (account_id, ${[...Object.keys(changed), same].join(', ')})
  SELECT :to, ${[...Object.values(changed), same].join(', ')} FROM ${table}
  WHERE account_id = :from AND ${condition}`
const move = (table: string, condition: string) =>
  `UPDATE ${table} SET account_id = :to WHERE account_id = :from AND ${condition}`
/** Of messages of the kept agents, in whichever account their rows are. */
const moveSent = (table: string) => `
  UPDATE ${table} SET sender_account_id = :to WHERE sender_account_id = :from AND message_id IN ${sentByKept}`
const remove = (table: string) => `DELETE FROM ${table} WHERE account_id = :from`

// Referenced rows are copied first, then the referencing rows are moved, then the originals are removed.
const moves = [
  // Two live agents cannot share an alias, not even for a moment.
  copy(
    'agents',
    `id, alias, type, visibility, access_policy, description, remote_url, encrypted_token, token_iv, token_auth_tag,
      token_key_id, created_at, last_seen_at, automated, message_replies`,
    { deleted_at: ':at' },
    isKept('id'),
  ),
  move('credentials', isKept('agent_id')),
  move('agent_access', isKept('agent_id')),
  copy(
    'skills',
    'id, name, description, created_at',
    {},
    `EXISTS (
      SELECT 1 FROM agent_skills
      WHERE agent_skills.account_id = :from AND agent_skills.skill_id = skills.id
        AND ${isKept('agent_skills.agent_id')})`,
  ) + ' ON CONFLICT DO NOTHING',
  // The account may already have a skill of that name, under another id.
  `UPDATE agent_skills SET account_id = :to, skill_id = (
    SELECT own.id FROM skills AS own WHERE own.account_id = :to AND own.name = (
      SELECT skills.name FROM skills WHERE skills.account_id = :from AND skills.id = agent_skills.skill_id))
  WHERE account_id = :from AND ${isKept('agent_id')}`,
  // A message keeps its place in the log. Until the original is removed, the copy has the negative of it.
  copy(
    'messages',
    `id, from_agent_id, from_alias, type, recipient, channel_id, reply_to_message_id, conversation_id, flagged,
      created_at, trial_number, sanitized, hops, body, a2a`,
    { seq: '-seq' },
    isKept('from_agent_id'),
  ),
  copy('parts', 'id, message_id, media_type, encoding, content, bytes', {}, `message_id IN ${sentByKept}`),
  // The holder of a lease would ack it in the old account, so every lease in flight is released: its messages are
  // redelivered.
  `UPDATE deliveries SET state = 'unread', lease_id = NULL, read_at = NULL, release_count = release_count + 1
  WHERE account_id = :from AND lease_id IN (
    SELECT leases.id FROM leases WHERE leases.account_id = :from AND ${isKept('leases.agent_id')})`,
  `${remove('leases')} AND ${isKept('agent_id')}`,
  // Logged releases are removed, because they reference the rows that move.
  `${remove('lease_releases')} AND ${isKept('agent_id')}`,
  `DELETE FROM lease_releases WHERE sender_account_id = :from AND message_id IN ${sentByKept}`,
  moveSent('deliveries'),
  `UPDATE deliveries SET account_id = :to, inbox = ${inboxOf('deliveries.agent_id', ':to')}
  WHERE account_id = :from AND ${isKept('agent_id')}`,
  move('idempotency_keys', isKept('agent_id')),
  move('blocked_sends', isKept('agent_id')),
  // A provisional account reaches nobody else, so its verdicts are about its own messages. Its guardrails stay.
  `UPDATE verdicts SET account_id = :to, sender_account_id = :to WHERE account_id = :from`,
  // What belongs to a task follows it, by its foreign keys.
  move('tasks', isKept('client_agent_id')),
  `UPDATE tasks SET recipient_account_id = :to
  WHERE recipient_account_id = :from AND ${isKept('recipient_agent_id')}`,
  moveSent('task_messages'),
  moveSent('task_events'),
  move('contexts', isKept('agent_id')),
  `${remove('parts')} AND message_id IN ${sentByKept}`,
  `INSERT INTO usage (account_id, day, subject, messages, bytes)
  SELECT :to, day, subject, messages, bytes FROM usage WHERE account_id = :from
  ON CONFLICT (account_id, day, subject) DO UPDATE
    SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes`,
  remove('usage'),
  // A person has just looked at these agents, so their conversations begin again.
  remove('conversation_turns'),
  `${remove('messages')} AND ${isKept('from_agent_id')}`,
  `UPDATE messages SET seq = -seq WHERE account_id = :to AND seq < 0`,
  // What was made of the messages is made again, of those that moved and of those that the agents left behind.
  remove('thread_seen'),
  remove('thread_agents'),
  remove('thread_messages'),
  remove('threads'),
].map(statement).concat(
  placing(
    'places of messages that move',
    `(m.account_id = :to AND ${isKept('m.from_agent_id')} OR m.account_id = :from) AND m.seq <= ${followed}`,
  ),
  // The row of the agent stays, without its alias: deleting it would make SQLite scan all deliveries for references.
  statement(`UPDATE agents SET alias = id, deleted_at = :at WHERE account_id = :from AND ${isKept('id')}`),
  statement(`
    UPDATE agents SET deleted_at = NULL WHERE account_id = :to AND account_id <> :from AND ${isKept('id')}`),
)

const conditions = (db: Db, { from, user, email, keep, discard }: Claim): Statement[] => [
  db.bind(requireUnclaimed, { from }),
  db.bind(requireVerifiedEmail, { user, email }),
  db.bind(requireDecided, { from, decided: JSON.stringify([...keep, ...discard]) }),
  db.bind(endTrials, { from }),
]

export const claims = (db: Db) => ({
  /** The account of a claim link, and the owner address that it was made for. */
  byToken: (hash: string) => db.one(byToken, { hash }),
  /**
   * The oldest provisional account with live agents that signed up for the email address, and the number of such agents
   * in all provisional accounts, with the end of the first trial that has not ended.
   */
  offer: (email: string) => db.one(offer, { email }),
  /** The provisional account, if its agents signed up for the email address. */
  offered: (account: string, email: string) => db.one(offered, { account, email }),
  /** The live agents of a provisional account, oldest first. */
  agents: (from: string) => db.all(live, { from }),
  /**
   * Make the provisional account a claimed one. Fails the unit unless it is provisional, the user has verified the
   * email address and every live agent is kept or discarded. The caller adds the membership of the user and deletes
   * the discarded agents.
   */
  claim: (claim: Claim, name: string): Statement[] => [
    ...conditions(db, claim),
    db.bind(close, { from: claim.from, state: 'claimed', name, at: claim.at }),
  ],
  /**
   * Move the kept agents, with their keys, skills and messages, into the account `to`, and close the provisional
   * one. Leased messages become unread again. Fails the unit as `claim` does, and unless the user owns `to`.
   */
  merge: (claim: Claim, to: string): Statement[] => {
    const { from, user, keep, at } = claim
    const values = { from, to, keep: JSON.stringify(keep), at }
    return [
      ...conditions(db, claim),
      db.bind(requireOwner, { to, user }),
      ...moves.map((statement) => ({ ...db.bind(statement, values), rows: movedRows })),
      db.bind(close, { from, state: 'merged', name: '', at }),
    ]
  },
})
