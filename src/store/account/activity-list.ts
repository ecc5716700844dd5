/** The account activity log as people look through it. */
import { and, asc, desc, eq, gt, gte, lt, ne, type SQL, sql } from 'drizzle-orm'
import { activity, agents, credentials, oauthGrants, users } from '../../../db/schema.ts'
import { minute } from '../../lib/time.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../driver/binding.ts'
import type { Activity } from './activity.ts'

/** A row with who is behind it, as far as they are still known. */
export interface ListedActivity extends Activity {
  userName: string | null
  userEmail: string | null
  /** Of an admin key. */
  keyName: string | null
  keyLast4: string | null
  /** The agent whose key it was, or that a program was let in as. */
  agentAlias: string | null
  /** What the program calls itself that a person let in by OAuth. */
  programName: string | null
}

/** What to list; everything is optional. `before` is the `n` of the last row of the page before. */
export interface ActivityFilter {
  tool?: string
  /** `ok` or the code of an error. */
  outcome?: string
  /** Only what was not `ok`. */
  isRefused?: boolean
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
/** How far the clocks of two processes, or of one before and after a correction, may differ: `n` is the order, not the time. */
const clockSlackMs = 5 * minute
export const activityFields = {
  n: activity.n,
  id: activity.id,
  createdAt: activity.createdAt,
  actorType: activity.actorType,
  userId: activity.userId,
  credentialId: activity.credentialId,
  credentialKind: activity.credentialKind,
  tool: activity.tool,
  arguments: activity.arguments,
  outcome: activity.outcome,
  requestId: activity.requestId,
  previousHash: activity.previousHash,
  hash: activity.hash,
}

/** Makes the reads of one account. */
export function prepareActivityList(db: Db) {
  const unless = (name: string, condition: SQL) => sql`(${p(name)} IS NULL OR ${condition})`
  const conditions = {
    credentialId: eq(activity.credentialId, p('credentialId')),
    userId: eq(activity.userId, p('userId')),
    // Written out, not bound: only then may the planner use the partial index.
    isRefused: ne(activity.outcome, sql`'ok'`),
    tool: eq(activity.tool, p('tool')),
  }
  // An index serves a condition that always stands there, so each filter can lead a query of its own.
  const listed = (lead?: SQL) =>
    db.select({
      ...activityFields,
      userName: users.name,
      userEmail: users.email,
      keyName: credentials.name,
      keyLast4: credentials.last4,
      agentAlias: agents.alias,
      programName: oauthGrants.clientName,
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
      .where(own(
        activity,
        lead,
        ...Object.entries(conditions).map(([name, condition]) => unless(name, condition)),
        unless('outcome', eq(activity.outcome, p('outcome'))),
        unless('since', gte(activity.createdAt, p('since'))),
        unless('until', lt(activity.createdAt, p('until'))),
        gt(activity.n, p('after')),
        lt(activity.n, p('before')),
      )).orderBy(desc(activity.n)).limit(p('limit')).prepare()
  const lists = {
    credentialId: listed(conditions.credentialId),
    userId: listed(conditions.userId),
    isRefused: listed(conditions.isRefused),
    tool: listed(conditions.tool),
    all: listed(),
  }
  const beforeTime = db.select({ n: activity.n }).from(activity).where(own(activity, lt(activity.createdAt, p('at'))))
    .orderBy(desc(activity.createdAt), desc(activity.n)).limit(1).prepare()
  const fromTime = db.select({ n: activity.n }).from(activity).where(own(activity, gte(activity.createdAt, p('at'))))
    .orderBy(asc(activity.createdAt), asc(activity.n)).limit(1).prepare()

  // From one value to the next by the index, however many rows each has.
  const values = (column: typeof activity.tool | typeof activity.userId) => {
    const least = (behind: SQL) =>
      sql`(SELECT min(${column}) FROM ${activity} WHERE ${activity.accountId} = ${
        p('account')
      } AND ${column} ${behind})`
    return sql`(WITH RECURSIVE steps(value) AS (
      SELECT ${least(sql`IS NOT NULL`)}
      UNION ALL SELECT ${least(sql`> steps.value`)} FROM steps WHERE steps.value IS NOT NULL
    ) SELECT value FROM steps WHERE value IS NOT NULL) AS found`
  }
  const tools = db.select({ tool: sql<string>`found.value` }).from(values(activity.tool)).prepare()
  const people = db.select({ id: users.id, name: users.name, email: users.email }).from(values(activity.userId))
    .innerJoin(users, eq(users.id, sql`found.value`)).orderBy(users.name, users.email).prepare()

  return (scope: Scope) => ({
    /** Newest first. */
    async list(filter: ActivityFilter = {}): Promise<ListedActivity[]> {
      const { since, until, isRefused } = filter
      const place = async (query: typeof beforeTime, at: number | undefined) =>
        at === undefined ? undefined : (await scope.one(query, { at }))?.n
      const after = await place(beforeTime, since && since - clockSlackMs)
      const end = await place(fromTime, until && until + clockSlackMs)
      const values = {
        tool: filter.tool ?? null,
        outcome: filter.outcome ?? null,
        // Every code but `ok` is a refusal, and those have an index.
        isRefused: isRefused || (filter.outcome ?? 'ok') !== 'ok' ? 1 : null,
        credentialId: filter.credentialId ?? null,
        userId: filter.userId ?? null,
      }
      const lead = (['credentialId', 'userId', 'isRefused', 'tool'] as const).find((name) => values[name] !== null)
      return await scope.all(lists[lead ?? 'all'], {
        ...values,
        since: since ?? null,
        until: until ?? null,
        after: after ?? Number.MIN_SAFE_INTEGER,
        before: Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, end ?? Number.MAX_SAFE_INTEGER),
        limit: Math.min(filter.limit ?? maxPage, maxPage),
      })
    },
    /** Every tool that has a row. */
    tools: async () => (await scope.all(tools)).map(({ tool }) => tool),
    /** Everybody who has a row and is still known. */
    people: () => scope.all(people),
  })
}
