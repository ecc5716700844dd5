/** Conditions that may need a person's attention, found by a few index searches. */
import { failingOutboxes } from './remote-agents.ts'
import type { activity, credentials } from '../../../db/schema.ts'
import { whileGrantLives } from '../global/oauth-access.ts'
import type { StoredFollower } from '../global/pulse.ts'
import { type AccountDb, boolean, crossAccountQuery, query, statement } from '../sql.ts'
import { isClaimed } from './directory.ts'
import { countedUnread } from './inbox-message.ts'
import { parkedAtReturns } from './leases.ts'
import { type FullInbox, refusedToday } from './usage.ts'

/** Counts stop at this number, which then means this many or more. */
export const maxCounted = 1_000

/** Maximum number of entries read of each kind. `total` contains the full number. */
export const maxOfKind = 50
const total = 'count(*) OVER () AS total'

interface Counted {
  /** The number of entries of this kind. */
  total: number
}

/** A literal, because a condition with a parameter cannot use the partial index. */
const isUnread = `deliveries.state = 'unread'`

interface WaitingAgent extends Counted {
  agentId: string
  alias: string
  lastSeenAt: number | null
  since: number
  sender: string | null
  unread: number
}

// One search for each inbox with unread messages. GROUP BY over all unread messages takes a hundred times as long.
const waiting = query<WaitingAgent>(`
  SELECT late.agent_id, late.alias, late.last_seen_at, late.since, messages.from_alias AS sender,
    late.unread, late.total
  FROM (
    SELECT inboxes.agent_id, agents.alias, agents.last_seen_at, oldest.created_at AS since, oldest.seq, inboxes.unread,
      ${total}
    FROM (
      SELECT agent_numbers.n, agent_numbers.agent_id, agent_numbers.unread, (SELECT deliveries.seq FROM deliveries
        WHERE deliveries.inbox = agent_numbers.n AND ${isUnread} ORDER BY deliveries.seq LIMIT 1) AS first_seq
      FROM agent_numbers WHERE agent_numbers.account_id = :account AND agent_numbers.unread > 0) AS inboxes
    JOIN deliveries AS oldest ON oldest.account_id = :account AND oldest.seq = inboxes.first_seq AND oldest.inbox = inboxes.n
    JOIN agents ON agents.account_id = :account AND agents.id = inboxes.agent_id AND agents.deleted_at IS NULL
      AND agents.type <> 'human' AND agents.remote_url IS NULL
    WHERE oldest.created_at <= :until
    ORDER BY oldest.created_at LIMIT ${maxOfKind}) AS late
  LEFT JOIN messages ON messages.account_id = :account AND messages.seq = late.seq
  ORDER BY late.since`)

const full = query<FullInbox & Counted & { agentId: string; alias: string }>(`
  SELECT agents.id AS agent_id, agents.alias, agent_numbers.unread, :max AS max, ${refusedToday} AS refused, ${total}
  FROM agent_numbers JOIN agents ON agents.account_id = :account AND agents.id = agent_numbers.agent_id
    AND agents.deleted_at IS NULL
  WHERE agent_numbers.account_id = :account
    AND (agent_numbers.unread >= :nearlyFull OR (agent_numbers.unread >= :fullForOthers AND ${refusedToday} > 0))
  ORDER BY agent_numbers.unread DESC LIMIT ${maxOfKind}`)

// Cross joins start with the few deliveries. Otherwise the planner starts with all agents.
const joinAgents = (deliveries: string) =>
  `CROSS JOIN agent_numbers ON agent_numbers.account_id = :account AND agent_numbers.n = ${deliveries}.inbox
  CROSS JOIN agents ON agents.account_id = :account AND agents.id = agent_numbers.agent_id`
// Excludes messages that a person made unread again after they were parked and that were not released since.
const returned = query<
  Counted & { agentId: string; alias: string; messages: number; since: number; releases: number }
>(`
  SELECT agents.id AS agent_id, agents.alias, count(*) AS messages, min(came_back.created_at) AS since,
    max(came_back.release_count) AS releases, ${total}
  FROM (
    SELECT deliveries.inbox, deliveries.created_at, deliveries.release_count FROM deliveries
    WHERE deliveries.account_id = :account AND ${isUnread} AND deliveries.release_count > 2
      AND deliveries.release_count % ${parkedAtReturns} > 0
    LIMIT ${maxCounted}) AS came_back
  ${joinAgents('came_back')} AND agents.deleted_at IS NULL
  GROUP BY agents.id ORDER BY since LIMIT ${maxOfKind}`)
interface ParkedMessages extends Counted {
  agentId: string
  alias: string
  isDeleted: boolean
  messages: number
  releases: number
  since: number
  /** The last delivery error of a remote agent; null for other agents. */
  reason: string | null
}

const parked = query<ParkedMessages>(
  `
  SELECT agents.id AS agent_id, agents.alias, agents.deleted_at IS NOT NULL AS is_deleted, count(*) AS messages,
    max(lost.release_count) AS releases, min(lost.read_at) AS since, ${total},
    iif(agents.remote_url IS NULL, NULL, (
      SELECT remote_task.error FROM deliveries CROSS JOIN messages CROSS JOIN remote_tasks AS remote_task
      WHERE deliveries.account_id = :account AND deliveries.state = 'parked' AND deliveries.inbox = lost.inbox
        AND messages.seq = deliveries.seq
        AND remote_task.account_id = :account AND remote_task.agent_id = agents.id AND remote_task.id = messages.id
      ORDER BY deliveries.read_at DESC LIMIT 1)) AS reason
  FROM (
    SELECT deliveries.inbox, deliveries.read_at, deliveries.release_count FROM deliveries
    WHERE deliveries.account_id = :account AND deliveries.state = 'parked' AND deliveries.read_at >= :since
    ORDER BY deliveries.read_at DESC LIMIT ${maxCounted}) AS lost
  ${joinAgents('lost')}
  GROUP BY agents.id ORDER BY since LIMIT ${maxOfKind}`,
  { isDeleted: boolean },
)

interface RemoteInTrouble extends Counted {
  agentId: string
  alias: string
  failingSince: number | null
  pausedAt: number | null
  error: string | null
  /** The time of the next attempt. */
  dueAt: number | null
  unread: number
}

const remote = query<RemoteInTrouble>(`
  SELECT agents.id AS agent_id, agents.alias, outbox.failing_since, remote.paused_at, outbox.error, outbox.due_at,
    agent_numbers.unread, ${total}
  FROM remote_agents AS remote
  JOIN agents ON agents.account_id = :account AND agents.id = remote.agent_id AND agents.deleted_at IS NULL
    AND agents.remote_url IS NOT NULL
  JOIN agent_numbers ON agent_numbers.account_id = :account AND agent_numbers.agent_id = remote.agent_id
  LEFT JOIN (${failingOutboxes}) AS outbox ON outbox.agent_id = remote.agent_id
  WHERE remote.account_id = :account AND (outbox.attempts >= :least OR remote.paused_at IS NOT NULL)
  ORDER BY coalesce(remote.paused_at, outbox.failing_since) LIMIT ${maxOfKind}`)

interface RefusedCaller {
  calls: number
  since: number
  outcome: string
  actorType: typeof activity.$inferSelect.actorType
  credentialId: string | null
  credentialKind: typeof activity.$inferSelect.credentialKind
  userId: string | null
  userName: string | null
  userEmail: string | null
  keyName: string | null
  keyLast4: string | null
  agentAlias: string | null
  clientName: string | null
}

// A user's sessions count as one caller. SQLite takes a caller's other columns from the row with the greatest `n`. The
// search starts at the day's first row in the log, so older failures are not read. Form errors are omitted, because the
// person at the page sees them.
const refused = query<RefusedCaller>(`
  SELECT callers.calls, callers.since, callers.outcome, callers.actor_type, callers.caller AS credential_id,
    callers.credential_kind, callers.user_id, users.name AS user_name, users.email AS user_email,
    credentials.name AS key_name, credentials.last4 AS key_last4, agents.alias AS agent_alias,
    oauth_grants.client_name
  FROM (
    SELECT max(failures.n) AS n, count(*) AS calls, min(failures.created_at) AS since, failures.actor_type,
      failures.caller, failures.credential_kind, failures.user_id, failures.outcome
    FROM (
      SELECT activity.n, activity.actor_type,
        iif(activity.credential_kind = 'session', NULL, activity.credential_id) AS caller, activity.credential_kind,
        activity.user_id, activity.outcome, activity.created_at
      FROM activity
      WHERE activity.account_id = :account AND activity.outcome <> 'ok'
        AND (activity.credential_kind IS NOT 'session' OR activity.outcome = 'not_allowed') AND activity.n >= (
        SELECT activity.n FROM activity WHERE activity.account_id = :account AND activity.created_at >= :since
        ORDER BY activity.created_at, activity.n LIMIT 1)
      ORDER BY activity.n DESC LIMIT ${maxCounted}) AS failures
    GROUP BY failures.actor_type, failures.caller, failures.user_id
    HAVING count(*) >= :least LIMIT ${maxOfKind}) AS callers
  LEFT JOIN users ON users.id = callers.user_id
  LEFT JOIN credentials ON credentials.account_id = :account AND credentials.id = callers.caller
  LEFT JOIN oauth_grants ON oauth_grants.account_id = :account AND oauth_grants.id = callers.caller
  LEFT JOIN agents ON agents.account_id = :account
    AND agents.id = coalesce(credentials.agent_id, oauth_grants.agent_id)
  ORDER BY callers.calls DESC`)

interface FailingGuardrail {
  guardrailId: string
  name: string
  /** Messages that were delivered without a check. `refused`: messages that were not delivered. */
  unchecked: number
  refused: number
  /** Whether the last check failed. */
  isFailing: boolean
  failure: string | null
  since: number
}

const sumOf = (action: string) => `coalesce(sum(iif(guardrail_counts.action = '${action}', guardrail_counts.n, 0)), 0)`
const failing = query<FailingGuardrail>(
  `
  SELECT guardrails.id AS guardrail_id, guardrails.name, ${sumOf('unchecked')} AS unchecked,
    ${sumOf('failed')} AS refused, guardrails.failing_since IS NOT NULL AS is_failing, guardrails.failure,
    coalesce(guardrails.failing_since, min(guardrail_counts.hour)) AS since
  FROM guardrails
  LEFT JOIN guardrail_counts ON guardrail_counts.account_id = :account
    AND guardrail_counts.guardrail_id = guardrails.id AND guardrail_counts.hour >= :since
    AND guardrail_counts.action IN ('failed', 'unchecked')
  WHERE guardrails.account_id = :account
  GROUP BY guardrails.id
  HAVING count(guardrail_counts.n) > 0 OR (guardrails.failing_since IS NOT NULL AND guardrails.enabled)
  ORDER BY since LIMIT ${maxOfKind}`,
  { isFailing: boolean },
)

const blocking = query<{ guardrailId: string; name: string; messages: number; since: number }>(`
  SELECT guardrails.id AS guardrail_id, guardrails.name, sum(guardrail_counts.n) AS messages,
    min(guardrail_counts.hour) AS since
  FROM guardrail_counts
  JOIN guardrails ON guardrails.account_id = :account AND guardrails.id = guardrail_counts.guardrail_id
  WHERE guardrail_counts.account_id = :account AND guardrail_counts.hour >= :since
    AND guardrail_counts.action = 'blocked'
  GROUP BY guardrails.id HAVING sum(guardrail_counts.n) >= :least
  ORDER BY messages DESC LIMIT ${maxOfKind}`)

interface StaleKey extends Counted {
  id: string
  kind: typeof credentials.$inferSelect.kind
  name: string
  last4: string
  alias: string | null
  createdAt: number
  lastUsedAt: number | null
}

const keys = query<StaleKey>(`
  SELECT credentials.id, credentials.kind, credentials.name, credentials.last4, agents.alias, credentials.created_at,
    credentials.last_used_at, ${total}
  FROM credentials
  LEFT JOIN agents ON agents.account_id = :account AND agents.id = credentials.agent_id
  WHERE credentials.account_id = :account AND credentials.revoked_at IS NULL
    AND ((credentials.last_used_at IS NULL AND credentials.created_at <= :neverUsedSince)
      OR credentials.last_used_at <= :unusedSince OR credentials.created_at <= :oldSince)
    AND ${whileGrantLives}
  ORDER BY coalesce(credentials.last_used_at, credentials.created_at) LIMIT ${maxOfKind}`)

interface NewPartner {
  alias: string
  partner: string
}

const access = crossAccountQuery<NewPartner>(
  'pending aliases that were taken',
  `
  SELECT agents.alias, listed.alias AS partner
  FROM agent_access AS listed JOIN agents ON agents.account_id = :account AND agents.id = listed.agent_id
  WHERE listed.account_id = :account AND listed.pending AND agents.deleted_at IS NULL
    AND agents.visibility = 'public' AND agents.access_policy = 'allow_list'
    AND EXISTS (SELECT 1 FROM agents AS holder WHERE holder.alias = listed.alias AND holder.deleted_at IS NULL
      AND holder.account_id <> :account AND ${isClaimed('holder.account_id')})
  ORDER BY agents.alias, listed.alias LIMIT ${maxOfKind}`,
)

interface LeftOut {
  follower: StoredFollower
  /** The number of skipped log rows, including messages. */
  rows: number
  since: number
}

const leftOut = query<LeftOut>(
  `SELECT follower, count(*) AS rows, min(at) AS since FROM skipped_rows WHERE account_id = :account GROUP BY follower`,
)

export const attention = {
  reads: (account: AccountDb) => ({
    /** Programs' agents whose oldest unread message was stored by `until`. `sender` is null if it is external. */
    waiting: (until: number) => account.all(waiting, { until }),
    /** Agents with at least `nearlyFull` unread messages, and agents whose inbox refuses other accounts' messages. */
    full: (limits: { max: number; nearlyFull: number; fullForOthers: number; day: number }) =>
      account.all(full, limits),
    /** Agents with unread messages that were released at least three times. `releases` is the maximum per message. */
    returned: () => account.all(returned),
    /** Remote agents that are paused or failed `failures` times in a row. */
    remote: (failures: number) => account.all(remote, { least: failures }),
    parked: (since: number) => account.all(parked, { since }),
    /** Callers with at least `least` refused calls since `since`. `outcome` is that of the last call. */
    refused: (since: number, least: number) => account.all(refused, { since, least }),
    /** Guardrails that failed to check a message since `since`, or whose last check failed. */
    failing: (since: number) => account.all(failing, { since }),
    /** Guardrails that blocked at least `least` messages since `since`. */
    blocking: (since: number, least: number) => account.all(blocking, { since, least }),
    /** Log rows that followers skipped after failures. */
    leftOut: () => account.all(leftOut),
    /** Public agents whose access list contains a pending alias, `partner`, that another account's agent has taken. */
    access: () => account.all(access),
    /** Keys that were last used by `unusedSince`, never used since `neverUsedSince`, or made by `oldSince`. */
    keys: (times: { at: number; unusedSince: number; neverUsedSince: number; oldSince: number }) =>
      account.all(keys, times),
  }),
  changes: () => ({}),
}

const unread = query<{ unread: number }>(`
  SELECT coalesce(sum(unread), 0) AS unread FROM agent_numbers WHERE account_id = :account`)
/**
 * The account's programs. A program is connected if it has made calls or the grid calls it. `first`, `last`: the first
 * and last connected alias. `hasMessages`: the account has conversations. `oldest`: when the first program was created.
 */
export interface AgentCounts {
  total: number
  seen: number
  connected: number
  first: string | null
  last: string | null
  hasMessages: number
  oldest: number | null
}

const isConnected = '(last_seen_at IS NOT NULL OR remote_url IS NOT NULL)'
const agentCounts = query<AgentCounts>(`
  SELECT count(*) AS total, count(CASE WHEN last_seen_at >= :since THEN 1 END) AS seen,
    count(CASE WHEN ${isConnected} THEN 1 END) AS connected,
    min(created_at) AS oldest,
    min(CASE WHEN ${isConnected} THEN alias END) AS first, max(CASE WHEN ${isConnected} THEN alias END) AS last,
    EXISTS (SELECT 1 FROM threads WHERE threads.account_id = :account) AS has_messages
  FROM agents WHERE account_id = :account AND deleted_at IS NULL AND type <> 'human'`)
const presence = query<{ agentId: string; lastSeenAt: number | null; queue: number }>(`
  SELECT id AS agent_id, last_seen_at, ${countedUnread('agents.id')} AS queue
  FROM agents WHERE account_id = :account AND deleted_at IS NULL
  ORDER BY last_seen_at DESC LIMIT :limit`)

export const overview = {
  reads: (account: AccountDb) => ({
    /** The most recently seen agents, each with the time and its number of unread messages (100: 100 or more). */
    presence: (limit: number) => account.all(presence, { limit }),
    unread: async () => (await account.one(unread))!.unread,
    agents: async (since: number) => (await account.one(agentCounts, { since }))!,
  }),
  changes: () => ({}),
}

export interface Snooze {
  kind: string
  subject: string
  until: number
  level: number
}

const ofUser = query<Snooze>(`
  SELECT kind, subject, until, level FROM snoozes WHERE account_id = :account AND user_id = :user AND until > :at`)
const put = statement(`
  INSERT INTO snoozes (account_id, user_id, kind, subject, until, level)
  VALUES (:account, :user, :kind, :subject, :until, :level)
  ON CONFLICT (account_id, user_id, kind, subject) DO UPDATE SET until = excluded.until, level = excluded.level`)
const remove = statement(`
  DELETE FROM snoozes WHERE account_id = :account AND user_id = :user AND kind = :kind AND subject = :subject`)

export const snoozes = {
  reads: (account: AccountDb) => ({
    ofUser: (user: string, at: number): Promise<Snooze[]> => account.all(ofUser, { user, at }),
  }),
  changes: (account: AccountDb) => ({
    put: (user: string, snooze: Snooze) => account.bind(put, { user, ...snooze }),
    remove: (user: string, kind: string, subject: string) => account.bind(remove, { user, kind, subject }),
  }),
}
