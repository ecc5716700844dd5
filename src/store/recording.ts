/** Units with rows in the activity logs of accounts. */
import { GridError } from '../errors.ts'
import type { activity, NewActivity } from './account/activity.ts'
import type { Statement } from './sql.ts'
import type { UnitRows, WriteQueue } from './queue.ts'

type ActivityLog = typeof activity

/** What recording needs of an open store. */
export interface RecordingContext {
  readonly tablesOf: (accountId: string) => {
    read: { activity: ReturnType<ActivityLog['reads']> }
    change: { activity: ReturnType<ActivityLog['changes']> }
  }
  readonly queue: WriteQueue
}

/** A new row for the activity log of an account. */
export interface ActivityEntry {
  accountId: string
  entry: NewActivity
}

/** Commit statements as one unit, with these rows of activity logs. */
export async function writeWithActivity(
  { tablesOf, queue }: RecordingContext,
  rows: ActivityEntry[],
  statements: Statement[],
): Promise<UnitRows> {
  const lane = rows.length === 1 ? rows[0].accountId : ''
  const added = rows.map(({ accountId, entry }) => tablesOf(accountId).change.activity.add(entry))
  try {
    const stored = await queue.write(lane, [...statements, ...added])
    return stored.slice(0, statements.length)
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'write_conflict' || rows.length === 0) throw error
    // A unit that was committed but repeated, because its result was lost, conflicts with its own rows.
    const [{ accountId, entry }] = rows
    if (await tablesOf(accountId).read.activity.has(entry.id)) return statements.map(() => [])
    throw error
  }
}
