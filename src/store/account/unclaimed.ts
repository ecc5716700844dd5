/** Removing a provisional account that was not claimed in time. */
import { type AccountDb, precondition, type Statement, statement } from '../sql.ts'

/** About how many rows a statement of a removal writes at most: 20 agents on trial sent 10 messages each. */
const removedRows = 200

const requireUnclaimed = precondition(`EXISTS (
  SELECT 1 FROM accounts
  WHERE accounts.id = :account AND accounts.state = 'provisional' AND accounts.created_at <= :until
    AND NOT EXISTS (SELECT 1 FROM trials WHERE trials.account_id = :account AND trials.expires_at > :at))`)
const ofMessages = (table: string) =>
  `DELETE FROM ${table} WHERE sender_account_id = :account AND message_id IN (
    SELECT messages.id FROM messages WHERE messages.account_id = :account)`
const all = (table: string) => `DELETE FROM ${table} WHERE account_id = :account`
// Referencing rows first, because of the foreign keys.
const removals = [
  ofMessages('lease_releases'),
  ofMessages('deliveries'),
  ofMessages('held_messages'),
  all('idempotency_keys'),
  all('blocked_sends'),
  all('verdicts'),
  all('guardrail_counts'),
  all('guardrail_exceptions'),
  all('approval_rules'),
  all('agent_guardrails'),
  all('guardrails'),
  all('parts'),
  all('uploads'),
  // With its messages, events and artifacts, by their foreign keys.
  all('tasks'),
  all('contexts'),
  all('webhook_events'),
  all('webhooks'),
  all('remote_exchanges'),
  all('remote_agents'),
  // No other account has places of its messages: its agents reach no one outside of it.
  all('thread_seen'),
  all('edges'),
  all('thread_agents'),
  all('thread_messages'),
  all('threads'),
  all('mail_digests'),
  all('push_notices'),
  all('push_subscriptions'),
  all('seats'),
  all('snoozes'),
  all('messages'),
  all('leases'),
  all('credentials'),
  all('trials'),
  all('usage'),
  all('conversation_turns'),
  all('agent_access'),
  all('agent_skills'),
  all('skills'),
  // The row of an agent stays with its number, without its alias: deleting it would make SQLite scan all deliveries for
  // references.
  `UPDATE agents SET alias = id, description = '', signup_id = NULL, deleted_at = coalesce(deleted_at, :at)
  WHERE account_id = :account`,
  all('signups'),
  `UPDATE accounts SET state = 'removed', name = '', join_email = NULL WHERE id = :account`,
].map(statement)

export const unclaimed = {
  reads: () => ({}),
  changes: (account: AccountDb) => ({
    /**
     * Remove everything in the account and free its aliases; only the ids of the account and its agents stay. Fails
     * the unit unless the account was opened by `until`, is not claimed, and all its trials have ended at `at`.
     */
    remove: (until: number, at: number): Statement[] => [
      account.bind(requireUnclaimed, { until, at }),
      ...removals.map((statement) => ({ ...account.bind(statement, { at }), rows: removedRows })),
    ],
  }),
}
