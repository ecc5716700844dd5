/** The account activity log: an append-only chain of rows. */
import { and, asc, desc, eq, gt, gte, lt, ne, type SQL, sql } from 'drizzle-orm'
import { createHash } from 'node:crypto'
import { activity, credentials, users } from '../../../db/schema.ts'
import { minute } from '../../lib/time.ts'
import type { Db } from '../account.ts'
import { mine, own, p, type Scope } from '../bound.ts'

/** One row of the log. `arguments` is JSON without secrets, `createdAt` milliseconds since the epoch. */
export type Activity = Omit<typeof activity.$inferSelect, 'accountId'>

/** A row before it has its place in the chain. */
export type NewActivity = Omit<Activity, 'n' | 'previousHash' | 'hash'>

/** A row with who is behind it, as far as they are still known. */
export interface ListedActivity extends Activity {
  userName: string | null
  userEmail: string | null
  /** Of an admin key. */
  keyName: string | null
  keyLast4: string | null
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
/** The hash before the first row. */
const genesis = ''

/** The row in its place behind `head`. */
export function chained(
  accountId: string,
  entry: NewActivity,
  head: Pick<Activity, 'n' | 'hash'> | undefined,
): Activity {
  const row = { ...entry, n: (head?.n ?? 0) + 1, previousHash: head?.hash ?? genesis }
  return { ...row, hash: rowHash(accountId, row) }
}

/** SHA-256 over everything the row says and the hash of the row before it. */
function rowHash(accountId: string, row: Omit<Activity, 'hash'>): string {
  const covered = [
    row.previousHash,
    accountId,
    row.n,
    row.id,
    row.createdAt,
    row.actorType,
    row.userId,
    row.credentialId,
    row.credentialKind,
    row.tool,
    row.arguments,
    row.outcome,
    row.requestId,
  ]
  return createHash('sha256').update(JSON.stringify(covered)).digest('hex')
}

export function prepareActivity(db: Db) {
  const fields = {
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
  const head = db.select(fields).from(activity).where(own(activity)).orderBy(desc(activity.n)).limit(1).prepare()
  const after = db.select(fields).from(activity).where(own(activity, gt(activity.n, p('n'))))
    .orderBy(asc(activity.n)).limit(1_000).prepare()
  const has = db.select({ n: activity.n }).from(activity)
    .where(own(activity, gt(activity.n, p('n')), eq(activity.id, p('id')))).prepare()
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
      ...fields,
      userName: users.name,
      userEmail: users.email,
      keyName: credentials.name,
      keyLast4: credentials.last4,
    }).from(activity)
      .leftJoin(users, eq(users.id, activity.userId))
      .leftJoin(
        credentials,
        and(eq(credentials.accountId, activity.accountId), eq(credentials.id, activity.credentialId)),
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

  const add = db.insert(activity).values(mine({
    n: p('n'),
    id: p('id'),
    createdAt: p('createdAt'),
    actorType: p('actorType'),
    userId: p('userId'),
    credentialId: p('credentialId'),
    credentialKind: p('credentialKind'),
    tool: p('tool'),
    arguments: p('arguments'),
    outcome: p('outcome'),
    requestId: p('requestId'),
    previousHash: p('previousHash'),
    hash: p('hash'),
  })).toSQL()

  return {
    reads: (scope: Scope) => ({
      head: (): Promise<Activity | undefined> => scope.one(head),
      /** Whether the row with this id stands behind the place `n`. */
      has: async (id: string, n: number) => (await scope.one(has, { id, n })) !== undefined,
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
      /**
       * The place of the first row that was changed, moved, slipped in or is missing; undefined when the chain
       * holds. Rows cut off at its end are seen only by who knows an earlier head.
       */
      async firstBroken(): Promise<number | undefined> {
        let last: Activity | undefined
        for (;;) {
          const rows: Activity[] = await scope.all(after, { n: last?.n ?? Number.MIN_SAFE_INTEGER })
          if (rows.length === 0) return undefined
          for (const row of rows) {
            const expected = chained(scope.accountId, row, last)
            if (row.n !== expected.n || row.previousHash !== expected.previousHash || row.hash !== expected.hash) {
              return expected.n
            }
            last = row
          }
        }
      },
    }),
    changes: (scope: Scope) => ({
      /** A constraint error when another row took the place. */
      add: (row: Activity) => scope.bind(add, { ...row }),
    }),
  }
}
