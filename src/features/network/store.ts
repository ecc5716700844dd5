/** Message counts between agents, for the Network page. */
import { agentOf } from '../../store/account/inbox-message.ts'
import { type AccountDb, query } from '../../store/sql.ts'

/** Maximum number of guardrail verdicts and of parked messages that are read. */
const maxFailures = 5_000
/** Maximum number of pairs whose sender belongs to another account. */
const maxForeign = 1_000

/** An end is an agent's or channel's id, or the alias of another account's agent with its `@`. */
interface Between {
  source: string
  target: string
}

interface Sent extends Between {
  messages: number
  lastAt: number
  /** The number of answers among the messages, and the sum of their answer times. */
  answers: number
  answerMs: number
}

const sums = `sum(messages) AS messages, max(last_at) AS last_at, sum(answers) AS answers, sum(answer_ms) AS answer_ms`
// Returns one row with JSON for each source, because many rows are slower to read. Sources from other accounts begin
// with `@`, so they sort between '@' and 'A'.
const sent = query<{ source: string; targets: string }>(`
  SELECT chosen.value AS source, (
    SELECT json_group_array(json_array(target, messages, last_at, answers, answer_ms)) FROM (
      SELECT target, ${sums} FROM traffic
      WHERE account_id = :account AND period_ms = :period AND source = chosen.value AND at >= :since
      GROUP BY target)) AS targets
  FROM json_each(:agents) AS chosen
  UNION ALL
  SELECT source, json_group_array(json_array(target, messages, last_at, answers, answer_ms)) FROM (
    SELECT source, target, ${sums} FROM traffic
    WHERE account_id = :account AND period_ms = :period AND source > '@' AND source < 'A' AND at >= :since
    GROUP BY source, target LIMIT ${maxForeign})
  GROUP BY source`)
const parked = query<Between & { messages: number }>(`
  SELECT iif(messages.account_id = :account, messages.from_agent_id, '@' || messages.from_alias) AS source,
    coalesce(messages.channel_id, ${agentOf('lost')}) AS target, count(*) AS messages
  FROM (
    SELECT inbox, seq FROM deliveries
    WHERE account_id = :account AND state = 'parked' AND read_at >= :since LIMIT ${maxFailures}) AS lost
  CROSS JOIN messages
  WHERE messages.seq = lost.seq
  GROUP BY 1, 2`)
// Ids sort by time, so the greatest ids are the newest.
const refused = query<Between & { messages: number }>(`
  SELECT '@' || sender_alias AS source, recipient AS target, count(*) AS messages FROM (
    SELECT sender_alias, recipient, action, created_at FROM verdicts
    WHERE account_id = :account ORDER BY id DESC LIMIT ${maxFailures})
  WHERE action IN ('blocked', 'failed') AND created_at >= :since
  GROUP BY sender_alias, recipient`)
const ends = query<{ list: string }>(`
  SELECT json_group_array(json_array(id, '#' || name, NULL)) AS list FROM channels
  WHERE account_id = :account AND deleted_at IS NULL
  UNION ALL
  SELECT json_group_array(json_array(id, '@' || alias, last_seen_at)) FROM (
    SELECT id, alias, last_seen_at FROM agents WHERE account_id = :account AND deleted_at IS NULL
    ORDER BY last_seen_at DESC LIMIT :limit)`)
// Groups with one member come last, because they do not relate agents to each other.
const smallestFirst = `count(*) = 1, count(*), 1`
const groups = {
  channel: query<{ name: string; agents: string }>(`
    SELECT '#' || channels.name AS name, json_group_array(channel_members.agent_id) AS agents
    FROM json_each(:agents) AS chosen CROSS JOIN channel_members CROSS JOIN channels
    WHERE channel_members.account_id = :account AND channel_members.agent_id = chosen.value
      AND channels.account_id = :account AND channels.id = channel_members.channel_id AND channels.deleted_at IS NULL
    GROUP BY channels.id ORDER BY ${smallestFirst}`),
  skill: query<{ name: string; agents: string }>(`
    SELECT skills.name, json_group_array(agent_skills.agent_id) AS agents
    FROM json_each(:agents) AS chosen CROSS JOIN agent_skills CROSS JOIN skills
    WHERE agent_skills.account_id = :account AND agent_skills.agent_id = chosen.value
      AND skills.account_id = :account AND skills.id = agent_skills.skill_id
    GROUP BY skills.id ORDER BY ${smallestFirst}`),
}
const threads = query<{ key: string; id: number; lastAt: number }>(`
  SELECT threads.key, threads.id, threads.last_at FROM json_each(:keys) AS asked CROSS JOIN threads
  WHERE threads.account_id = :account AND threads.kind = iif(instr(asked.value, ' ') = 0, 'channel', 'pair')
    AND threads.key = asked.value AND threads.last_seq > 0`)

export const networkTables = {
  reads: (account: AccountDb) => ({
    /**
     * Counts the messages that these agents and other accounts sent, for each pair and direction. `period` is an hour
     * or a day in milliseconds, and `since` is the start of such a period.
     */
    sent: async (agents: string[], period: number, since: number): Promise<Sent[]> =>
      (await account.all(sent, { agents: JSON.stringify(agents), period, since })).flatMap(({ source, targets }) =>
        (JSON.parse(targets) as [string, number, number, number, number][])
          .map(([target, messages, lastAt, answers, answerMs]) => (
            { source, target, messages, lastAt, answers, answerMs }
          ))
      ),
    /** Counts the messages to the account's agents that were parked at or after `since`, for each pair. */
    parked: (since: number) => account.all(parked, { since }),
    /** Counts messages that guardrails refused or could not check. Ends are names: `@alias`, `#name`. */
    refused: (since: number) => account.all(refused, { since }),
    /** The channels (`#name`), and the agents seen most recently (`@alias`), without deleted ones. */
    ends: async (limit: number): Promise<{ id: string; name: string; lastSeenAt: number | null }[]> =>
      (await account.all(ends, { limit })).flatMap(({ list }) =>
        (JSON.parse(list) as [string, string, number | null][]).map(([id, name, lastSeenAt]) => ({
          id,
          name,
          lastSeenAt,
        }))
      ),
    /** The channels or skills of agents (a JSON list of ids), smallest first. Those of a single agent come last. */
    groups: (by: keyof typeof groups, agents: string[]) => account.all(groups[by], { agents: JSON.stringify(agents) }),
    /** Conversations by key: a channel's id, or the ids of a pair of agents. */
    threads: (keys: string[]) => account.all(threads, { keys: JSON.stringify(keys) }),
  }),
  changes: () => ({}),
}
