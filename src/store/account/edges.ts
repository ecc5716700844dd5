/** Who talks to whom: what the page Network draws, and how long an agent takes to answer. */
import { day } from '../../lib/time.ts'
import { type AccountDb, query } from '../sql.ts'

/** How many of the newest findings of guardrails, and of messages that were set aside, are looked at. */
const maxFailures = 5_000

/** An end is the id of an agent or channel, or the alias of another account's agent with its `@`. */
interface Between {
  source: string
  target: string
}

const sent = query<Between & { messages: number; lastAt: number }>(`
  SELECT source, target, sum(messages) AS messages, max(last_at) AS last_at FROM edges
  WHERE account_id = :account AND period_ms = :period AND at >= :since
  GROUP BY source, target`)
const parked = query<Between & { messages: number }>(`
  SELECT iif(messages.account_id = :account, messages.from_agent_id, '@' || messages.from_alias) AS source,
    coalesce(messages.channel_id, lost.agent_id) AS target, count(*) AS messages
  FROM (
    SELECT agent_id, sender_account_id, message_id FROM deliveries
    WHERE account_id = :account AND state = 'parked' AND read_at >= :since LIMIT ${maxFailures}) AS lost
  CROSS JOIN messages
  WHERE messages.account_id = lost.sender_account_id AND messages.id = lost.message_id
  GROUP BY 1, 2`)
// Ids sort by time, so the greatest are the newest.
const refused = query<Between & { messages: number }>(`
  SELECT '@' || sender_alias AS source, recipient AS target, count(*) AS messages FROM (
    SELECT sender_alias, recipient, action, created_at FROM verdicts
    WHERE account_id = :account ORDER BY id DESC LIMIT ${maxFailures})
  WHERE action IN ('blocked', 'failed') AND created_at >= :since
  GROUP BY sender_alias, recipient`)
const agents = query<{ id: string; alias: string; lastSeenAt: number | null }>(`
  SELECT id, alias, last_seen_at FROM agents WHERE account_id = :account AND deleted_at IS NULL ORDER BY alias`)
const channels = query<{ id: string; name: string }>(`
  SELECT id, name FROM channels WHERE account_id = :account AND deleted_at IS NULL ORDER BY name`)
const groups = {
  channel: query<{ name: string; members: string }>(`
    SELECT '#' || channels.name AS name, json_group_array(channel_members.agent_id) AS members FROM channels
    JOIN channel_members ON channel_members.account_id = channels.account_id
      AND channel_members.channel_id = channels.id
    WHERE channels.account_id = :account AND channels.deleted_at IS NULL GROUP BY channels.id`),
  skill: query<{ name: string; members: string }>(`
    SELECT skills.name, json_group_array(agent_skills.agent_id) AS members FROM skills
    JOIN agent_skills ON agent_skills.account_id = skills.account_id AND agent_skills.skill_id = skills.id
    WHERE skills.account_id = :account GROUP BY skills.id`),
}
const threads = query<{ key: string; id: number; lastAt: number }>(`
  SELECT threads.key, threads.id, threads.last_at FROM json_each(:keys) AS asked CROSS JOIN threads
  WHERE threads.account_id = :account AND threads.kind = iif(instr(asked.value, ' ') = 0, 'channel', 'pair')
    AND threads.key = asked.value AND threads.last_seq > 0`)
const answers = query<{ at: number; target: string; n: number; ms: number }>(`
  SELECT edges.at, edges.target, edges.answers AS n, edges.answer_ms AS ms
  FROM json_each(:days) AS days CROSS JOIN edges
  WHERE edges.account_id = :account AND edges.period_ms = ${day} AND edges.at = days.value AND edges.source = :agent
    AND edges.answers > 0`)

export const edges = {
  reads: (account: AccountDb) => ({
    /** What was sent since an hour or day began, for each pair and direction. */
    sent: (period: number, since: number) => account.all(sent, { period, since }),
    /** What was set aside at agents of the account since then. */
    parked: (since: number) => account.all(parked, { since }),
    /** What guardrails of the account refused, or could not check. Ends are names here: `@alias`, `#name`. */
    refused: (since: number) => account.all(refused, { since }),
    /** Live agents and channels, by name. */
    agents: () => account.all(agents),
    channels: () => account.all(channels),
    /** The channels or skills of the account, with the ids of those who have them as JSON. */
    groups: (by: keyof typeof groups) => account.all(groups[by]),
    /** Conversations by their keys: the id of a channel, or the two ids of a pair. */
    threads: (keys: string[]) => account.all(threads, { keys: JSON.stringify(keys) }),
    /** How many answers an agent gave on each of these days, to whom, and how long they took in all. */
    answers: (agent: string, days: readonly number[]) => account.all(answers, { agent, days: JSON.stringify(days) }),
  }),
  changes: () => ({}),
}
