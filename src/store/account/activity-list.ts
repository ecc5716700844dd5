/** Browsing the account activity log. */
import { and, asc, desc, eq, exists, getTableColumns, gt, gte, lt, ne, type SQL, sql } from 'drizzle-orm'
import { activity, agents, credentials, oauthGrants, users } from '../../../db/schema.ts'
import { minute } from '../../lib/time.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'

/** One row. `arguments` is JSON without secrets, `createdAt` milliseconds since the epoch. */
export type Activity = Omit<typeof activity.$inferSelect, 'accountId'>

/** A row with the names of the user, key, agent and client behind it, as far as they still exist. */
export interface ListedActivity extends Activity {
  userName: string | null
  userEmail: string | null
  /** Of an admin key. */
  keyName: string | null
  keyLast4: string | null
  /** Of an agent key, or of a grant to act as an agent. */
  agentAlias: string | null
  /** The name of the OAuth client. */
  clientName: string | null
}

/** An OAuth grant that is in the log: a program, and whom it acted as. */
export interface LoggedProgram {
  /** Its credential id in the log. */
  id: string
  clientName: string
  /** Null for a program that administers the account. */
  agentAlias: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** What to list. `before` is the `n` of the last row of the previous page. */
export interface ActivityFilter {
  tool?: string
  /** `ok` or an error code. */
  outcome?: string
  /** Only rows whose outcome is not `ok`. */
  isRefused?: boolean
  /** Without the calls that only list what there is, and without what people read. */
  isChange?: boolean
  credentialId?: string
  userId?: string
  /** Milliseconds since the epoch, inclusive. */
  since?: number
  /** Exclusive. */
  until?: number
  before?: number
  limit?: number
}

const maxPage = 200
/** How many programs the filter offers, the newest ones. */
const maxPrograms = 200
/**
 * How far the clocks of two processes may differ, or one clock before and after a correction. Rows are ordered by `n`,
 * not by time.
 */
const maxClockSkewMs = 5 * minute

export function prepareActivityList(db: Db) {
  const { accountId: _, ...activityFields } = getTableColumns(activity)
  const ifGiven = (name: string, condition: SQL) => sql`(${p(name)} IS NULL OR ${condition})`
  const conditions = {
    credentialId: eq(activity.credentialId, p('credentialId')),
    userId: eq(activity.userId, p('userId')),
    // Written out, not bound: only then may the planner use the partial index.
    isRefused: ne(activity.outcome, sql`'ok'`),
    tool: eq(activity.tool, p('tool')),
    // Written out, for the same reason. All tools that change nothing have one of these prefixes.
    isChange: sql`substr(${activity.tool}, 1, 11) <> 'admin_list_' AND substr(${activity.tool}, 1, 5) <> 'read_'`,
  }
  // An index serves only a condition that is not optional, so there is one query for each filter that can lead.
  const listed = (leading?: SQL) =>
    db.select({
      ...activityFields,
      userName: users.name,
      userEmail: users.email,
      keyName: credentials.name,
      keyLast4: credentials.last4,
      agentAlias: agents.alias,
      clientName: oauthGrants.clientName,
    }).from(activity)
      .leftJoin(users, eq(users.id, activity.userId))
      .leftJoin(
        credentials,
        and(eq(credentials.accountId, activity.accountId), eq(credentials.id, activity.credentialId)),
      )
      .leftJoin(
        oauthGrants,
        and(eq(oauthGrants.accountId, activity.accountId), eq(oauthGrants.id, activity.credentialId)),
      )
      .leftJoin(
        agents,
        and(
          eq(agents.accountId, activity.accountId),
          eq(agents.id, sql`coalesce(${credentials.agentId}, ${oauthGrants.agentId})`),
        ),
      )
      .where(inAccount(
        activity,
        leading,
        ...Object.entries(conditions).map(([name, condition]) => ifGiven(name, condition)),
        ifGiven('outcome', eq(activity.outcome, p('outcome'))),
        ifGiven('since', gte(activity.createdAt, p('since'))),
        ifGiven('until', lt(activity.createdAt, p('until'))),
        gt(activity.n, p('after')),
        lt(activity.n, p('before')),
      )).orderBy(desc(activity.n)).limit(p('limit')).prepare()
  const lists = {
    credentialId: listed(conditions.credentialId),
    userId: listed(conditions.userId),
    isRefused: listed(conditions.isRefused),
    tool: listed(conditions.tool),
    isChange: listed(conditions.isChange),
    all: listed(),
  }
  const beforeTime = db.select({ n: activity.n }).from(activity).where(
    inAccount(activity, lt(activity.createdAt, p('at'))),
  )
    .orderBy(desc(activity.createdAt), desc(activity.n)).limit(1).prepare()
  const fromTime = db.select({ n: activity.n }).from(activity).where(
    inAccount(activity, gte(activity.createdAt, p('at'))),
  )
    .orderBy(asc(activity.createdAt), asc(activity.n)).limit(1).prepare()

  // Steps through the index from one value to the next, however many rows each has.
  const distinctValues = (column: typeof activity.tool | typeof activity.userId) => {
    const least = (bound: SQL) =>
      sql`(SELECT min(${column}) FROM ${activity} WHERE ${activity.accountId} = ${p('account')} AND ${column} ${bound})`
    return sql`(WITH RECURSIVE steps(value) AS (
      SELECT ${least(sql`IS NOT NULL`)}
      UNION ALL SELECT ${least(sql`> steps.value`)} FROM steps WHERE steps.value IS NOT NULL
    ) SELECT value FROM steps WHERE value IS NOT NULL) AS found`
  }
  const tools = db.select({ tool: sql<string>`found.value` }).from(distinctValues(activity.tool)).prepare()
  const usersInLog = db.select({ id: users.id, name: users.name, email: users.email }).from(
    distinctValues(activity.userId),
  )
    .innerJoin(users, eq(users.id, sql`found.value`)).orderBy(users.name, users.email).prepare()

  // From the grants, of which there are few, instead of the log, in which each session is a credential too.
  const isLogged = and(eq(activity.accountId, oauthGrants.accountId), eq(activity.credentialId, oauthGrants.id))
  const programs = db.select({
    id: oauthGrants.id,
    clientName: oauthGrants.clientName,
    agentAlias: agents.alias,
    createdAt: oauthGrants.createdAt,
  }).from(oauthGrants)
    .leftJoin(agents, and(eq(agents.accountId, oauthGrants.accountId), eq(agents.id, oauthGrants.agentId)))
    .where(inAccount(
      oauthGrants,
      exists(db.select({ one: sql`1` }).from(activity).where(inAccount(activity, isLogged))),
    ))
    .orderBy(desc(oauthGrants.createdAt)).limit(maxPrograms).prepare()

  return (account: AccountBinding) => ({
    /** Newest first. */
    async list(filter: ActivityFilter = {}): Promise<ListedActivity[]> {
      const { since, until, isRefused, isChange } = filter
      const position = async (query: typeof beforeTime, at: number | undefined) =>
        at === undefined ? undefined : (await account.one(query, { at }))?.n
      const after = await position(beforeTime, since && since - maxClockSkewMs)
      const end = await position(fromTime, until && until + maxClockSkewMs)
      const values = {
        tool: filter.tool ?? null,
        outcome: filter.outcome ?? null,
        // Every other outcome than `ok` is an error, and errors have an index.
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
    /** Every tool that occurs in the log. */
    tools: async () => (await account.all(tools)).map(({ tool }) => tool),
    /** Every user in the log that still exists. */
    users: () => account.all(usersInLog),
    /** The programs in the log that signed in with OAuth, newest first. */
    programs: (): Promise<LoggedProgram[]> => account.all(programs),
  })
}
