/** Rows of the account activity log, each chained to the row before it by a hash. */
import { createHash } from 'node:crypto'
import { activity } from '../../../db/schema.ts'

/** One row. `arguments` is JSON without secrets, `createdAt` milliseconds since the epoch. */
export type Activity = Omit<typeof activity.$inferSelect, 'accountId'>

/** A row that is not in the chain yet. */
export type NewActivity = Omit<Activity, 'n' | 'previousHash' | 'hash'>

/** The columns of an `Activity`, for a select. */
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

/** The previous hash of the first row. */
const genesisHash = ''

/** The row that follows `head`, or the first one. */
export function chained(
  accountId: string,
  entry: NewActivity,
  head: Pick<Activity, 'n' | 'hash'> | undefined,
): Activity {
  const row = { ...entry, n: (head?.n ?? 0) + 1, previousHash: head?.hash ?? genesisHash }
  return { ...row, hash: rowHash(accountId, row) }
}

/**
 * The position of the first row that does not follow the one before it; undefined if all do. `last` is the row before
 * the first one, if there is one, and is believed.
 */
export function firstBrokenRow(accountId: string, rows: readonly Activity[], last?: Activity): number | undefined {
  for (const row of rows) {
    const expected = chained(accountId, row, last)
    if (row.n !== expected.n || row.previousHash !== expected.previousHash || row.hash !== expected.hash) {
      return expected.n
    }
    last = row
  }
  return undefined
}

/** SHA-256 over every field of the row and the previous hash. */
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
