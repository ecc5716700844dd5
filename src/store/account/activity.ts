/** The account activity log: append-only rows. */
import type { activity as table } from '../../../db/schema.ts'
import { minute } from '../../lib/time.ts'
import { type AccountDb, precondition, query, traffic } from '../sql.ts'

export type NewActivity = Omit<Activity, 'n'>

/** A log row about a person reading messages. There is at most one per session, subject and hour. */
interface LoggedReading {
  session: string
  tool: string
  subject: string
  since: number
}

const has = query<{ n: number }>(`SELECT n FROM activity WHERE account_id = :account AND id = :id`)
// The search starts at the newest row before the hour, so it reads few rows even in a long session.
const reading = `
  SELECT activity.n FROM activity
  WHERE activity.account_id = :account AND activity.credential_id = :session
    AND activity.n > coalesce((SELECT activity.n FROM activity
      WHERE activity.account_id = :account AND activity.created_at < :since
      ORDER BY activity.created_at DESC, activity.n DESC LIMIT 1), 0)
    AND activity.created_at >= :since AND activity.tool = :tool AND activity.outcome = 'ok'
    AND json_extract(activity.arguments, '$.subject') = :subject`
const oneReading = query<{ n: number }>(`${reading} LIMIT 1`)
const requireNoReading = precondition(`NOT EXISTS (${reading})`)
const add = traffic(`
  INSERT INTO activity (account_id, n, id, created_at, actor_type, user_id, credential_id, credential_kind, tool,
    arguments, outcome, request_id)
  VALUES (:account, (SELECT coalesce(max(n), 0) FROM activity WHERE account_id = :account) + 1, :id, :createdAt,
    :actorType, :userId, :credentialId, :credentialKind, :tool, :arguments, :outcome, :requestId)`)

export const activity = {
  reads: (account: AccountDb) => ({
    has: async (id: string) => (await account.one(has, { id })) !== undefined,
    ...activityList(account),
    hasReading: async (reading: LoggedReading) => (await account.one(oneReading, { ...reading })) !== undefined,
  }),
  changes: (account: AccountDb) => ({
    requireNoReading: (reading: LoggedReading) => account.bind(requireNoReading, { ...reading }),
    /** Fails with a constraint error if the id is already used. */
    add: (row: NewActivity) => account.bind(add, { ...row }),
  }),
}

/** One log row. `arguments` is JSON without secrets, `createdAt` milliseconds since the epoch. */
export type Activity = Omit<typeof table.$inferSelect, 'accountId'>

/** A row with the names of the user, key, agent and client behind it, if they still exist. */
export interface ListedActivity extends Activity {
  userName: string | null
  userEmail: string | null
  keyName: string | null
  keyLast4: string | null
  agentAlias: string | null
  clientName: string | null
}

/** An OAuth grant in the log: a client, and the agent or admin that it acted as. */
export interface LoggedProgram {
  id: string
  clientName: string
  agentAlias: string | null
  createdAt: number
}

/** A filter for the activity list. `before` is the `n` of the last row of the previous page. */
export interface ActivityFilter {
  tool?: string
  outcome?: string
  isRefused?: boolean
  /** Omits list calls and people's reads. */
  isChange?: boolean
  credentialId?: string
  userId?: string
  since?: number
  until?: number
  before?: number
  limit?: number
}

const maxPage = 200
const maxPrograms = 200
/** Maximum clock difference of two processes. Widens a searched range of times, because `n` orders the rows. */
const maxClockSkewMs = 5 * minute

const columns = `activity.n, activity.id, activity.created_at, activity.actor_type, activity.user_id,
  activity.credential_id, activity.credential_kind, activity.tool, activity.arguments, activity.outcome,
  activity.request_id`
const conditions = {
  credentialId: 'activity.credential_id = :credentialId',
  userId: 'activity.user_id = :userId',
  // A literal, because a condition with a parameter cannot use the partial index.
  isRefused: `activity.outcome <> 'ok'`,
  tool: 'activity.tool = :tool',
  // Literals for the same reason. The names of all read-only tools have one of these prefixes.
  isChange: `substr(activity.tool, 1, 11) <> 'admin_list_' AND substr(activity.tool, 1, 5) <> 'read_'`,
}
const ifGiven = ([name, condition]: [name: string, condition: string]) => `(:${name} IS NULL OR ${condition})`
const filters = Object.entries({
  ...conditions,
  outcome: 'activity.outcome = :outcome',
  since: 'activity.created_at >= :since',
  until: 'activity.created_at < :until',
}).map(ifGiven).join(' AND ')
// SQLite cannot use an index for an optional condition, so each leading filter has its own query.
const listed = (leading = '1') =>
  query<ListedActivity>(`
    SELECT ${columns}, users.name AS user_name, users.email AS user_email, credentials.name AS key_name,
      credentials.last4 AS key_last4, agents.alias AS agent_alias, oauth_grants.client_name
    FROM activity
    LEFT JOIN users ON users.id = activity.user_id
    LEFT JOIN credentials ON credentials.account_id = activity.account_id AND credentials.id = activity.credential_id
    LEFT JOIN oauth_grants ON oauth_grants.account_id = activity.account_id AND oauth_grants.id = activity.credential_id
    LEFT JOIN agents ON agents.account_id = activity.account_id
      AND agents.id = coalesce(credentials.agent_id, oauth_grants.agent_id)
    WHERE activity.account_id = :account AND (${leading}) AND ${filters}
      AND activity.n > :after AND activity.n < :before
    ORDER BY activity.n DESC LIMIT :limit`)
const lists = {
  credentialId: listed(conditions.credentialId),
  userId: listed(conditions.userId),
  isRefused: listed(conditions.isRefused),
  tool: listed(conditions.tool),
  isChange: listed(conditions.isChange),
  all: listed(),
}
const beforeTime = query<{ n: number }>(`
  SELECT n FROM activity WHERE account_id = :account AND created_at < :at ORDER BY created_at DESC, n DESC LIMIT 1`)
const fromTime = query<{ n: number }>(`
  SELECT n FROM activity WHERE account_id = :account AND created_at >= :at ORDER BY created_at, n LIMIT 1`)

// Jumps through the index from one value to the next, regardless of the number of rows per value.
const distinctValues = (column: string) => {
  const least = (bound: string) =>
    `(SELECT min(activity.${column}) FROM activity WHERE activity.account_id = :account AND activity.${column} ${bound})`
  return `(WITH RECURSIVE steps(value) AS (
      SELECT ${least('IS NOT NULL')}
      UNION ALL SELECT ${least('> steps.value')} FROM steps WHERE steps.value IS NOT NULL
    ) SELECT value FROM steps WHERE value IS NOT NULL) AS found`
}
const tools = query<{ tool: string }>(`SELECT found.value AS tool FROM ${distinctValues('tool')}`)
const usersInLog = query<{ id: string; name: string; email: string }>(`
  SELECT users.id, users.name, users.email FROM ${distinctValues('user_id')}
  JOIN users ON users.id = found.value
  ORDER BY users.name, users.email`)

// Starts with the grants, because there are few of them. Most credentials in the log are sessions.
const programs = query<LoggedProgram>(`
  SELECT oauth_grants.id, oauth_grants.client_name, agents.alias AS agent_alias, oauth_grants.created_at
  FROM oauth_grants
  LEFT JOIN agents ON agents.account_id = oauth_grants.account_id AND agents.id = oauth_grants.agent_id
  WHERE oauth_grants.account_id = :account AND EXISTS (SELECT 1 FROM activity
    WHERE activity.account_id = :account AND activity.credential_id = oauth_grants.id)
  ORDER BY oauth_grants.created_at DESC LIMIT ${maxPrograms}`)

const activityList = (account: AccountDb) => ({
  async list(filter: ActivityFilter = {}): Promise<ListedActivity[]> {
    const { since, until, isRefused, isChange } = filter
    const position = async (query: typeof beforeTime, at: number | undefined) =>
      at === undefined ? undefined : (await account.one(query, { at }))?.n
    const after = await position(beforeTime, since && since - maxClockSkewMs)
    const end = await position(fromTime, until && until + maxClockSkewMs)
    const values = {
      tool: filter.tool ?? null,
      outcome: filter.outcome ?? null,
      // Every outcome except `ok` is an error, so the query can use the index of errors.
      isRefused: isRefused || (filter.outcome ?? 'ok') !== 'ok' ? 1 : null,
      credentialId: filter.credentialId ?? null,
      userId: filter.userId ?? null,
      isChange: isChange ? 1 : null,
    }
    const leading = (['credentialId', 'userId', 'isRefused', 'tool', 'isChange'] as const)
      .find((name) => values[name] !== null)
    return await account.all(lists[leading ?? 'all'], {
      ...values,
      since: since ?? null,
      until: until ?? null,
      after: after ?? Number.MIN_SAFE_INTEGER,
      before: Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, end ?? Number.MAX_SAFE_INTEGER),
      limit: Math.min(filter.limit ?? maxPage, maxPage),
    })
  },
  tools: async () => (await account.all(tools)).map(({ tool }) => tool),
  users: () => account.all(usersInLog),
  programs: (): Promise<LoggedProgram[]> => account.all(programs),
})
