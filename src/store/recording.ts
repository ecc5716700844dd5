/** Units with rows in the activity logs of accounts. The rows of an account are chained. */
import { GridError } from '../errors.ts'
import type { KeyedMutex } from '../lib/limits/keyed-mutex.ts'
import { chained, type NewActivity } from './account/activity-chain.ts'
import type { prepareActivity } from './account/activity.ts'
import type { Statement } from './driver/binding.ts'
import type { UnitRows, WriteQueue } from './queue.ts'

type ActivityLog = ReturnType<typeof prepareActivity>

/** What recording needs of an open store. */
export interface RecordingContext {
  readonly tablesOf: (accountId: string) => {
    read: { activity: ReturnType<ActivityLog['reads']> }
    change: { activity: ReturnType<ActivityLog['changes']> }
  }
  readonly queue: WriteQueue
  /** Held per account while a row is added to its activity log, because rows are chained. */
  readonly activityMutex: KeyedMutex
}

/** How often a unit is tried when other processes take the next position of the activity chain. */
const maxRecordAttempts = 20

/** A new row for the activity log of an account. */
export interface ActivityEntry {
  accountId: string
  entry: NewActivity
}

/**
 * Commit statements as one unit, with a row in the activity log of each of these accounts (distinct ids).
 * The mutexes are taken in the order of the ids, so that concurrent units cannot deadlock.
 */
export async function writeWithActivity(
  context: RecordingContext,
  rows: ActivityEntry[],
  statements: Statement[],
): Promise<UnitRows> {
  const run = rows.toSorted((a, b) => a.accountId < b.accountId ? -1 : 1).reduceRight(
    (next, { accountId }) => () => context.activityMutex.run(accountId, next),
    () => appendActivity(context, rows, statements),
  )
  return await run()
}

/** Each row gets the next position of its chain. If another process took it, the unit is tried again with new heads. */
async function appendActivity(
  { tablesOf, queue }: RecordingContext,
  rows: ActivityEntry[],
  statements: Statement[],
): Promise<UnitRows> {
  const logs = rows.map(({ accountId, entry }) => ({ accountId, entry, tables: tablesOf(accountId) }))
  const headsOf = () => Promise.all(logs.map(({ tables }) => tables.read.activity.head()))
  const lane = rows.length === 1 ? rows[0].accountId : ''
  for (let attempt = 1;; attempt++) {
    const heads = await headsOf()
    try {
      const stored = await queue.write(lane, [
        ...statements,
        ...logs.map(({ accountId, entry, tables }, n) =>
          tables.change.activity.add(chained(accountId, entry, heads[n]))
        ),
      ])
      return stored.slice(0, statements.length)
    } catch (error) {
      if (!(error instanceof GridError) || error.code !== 'write_conflict' || rows.length === 0) throw error
      // A unit that was committed but repeated, because its result was lost, conflicts with its own rows.
      const [{ entry, tables }] = logs
      if (await tables.read.activity.has(entry.id, heads[0]?.n ?? 0)) return statements.map(() => [])
      const moved = (await headsOf()).some((head, n) => head?.n !== heads[n]?.n)
      if (!moved || attempt === maxRecordAttempts) throw error
    }
  }
}
