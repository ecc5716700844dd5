import { and, desc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import { attempts } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** One counted event, such as a sign-in. `subject` is the hash of what is counted, such as an address. */
export interface Attempt {
  id: string
  kind: string
  subject: string
}

/**
 * Allows at most `max` attempts of a kind and subject after `since`, which is in milliseconds since the epoch. The
 * limit is reached when there are `max`.
 */
export interface AttemptLimit {
  kind: string
  subject: string
  max: number
  since: number
}

/**
 * Selects a row if one of the limits in the placeholder `limits` is reached. It is JSON, so that one statement takes
 * lists of any length.
 */
export const reachedLimit = sql`SELECT 1 FROM json_each(${p('limits')}) AS allowed WHERE (
  SELECT count(*) FROM attempts AS seen WHERE seen.kind = allowed.value ->> 'kind'
    AND seen.subject = allowed.value ->> 'subject' AND seen.created_at > allowed.value ->> 'since'
) >= allowed.value ->> 'max'`

export function prepareAttempts(db: Db) {
  const ofSubject = and(eq(attempts.kind, p('kind')), eq(attempts.subject, p('subject')))
  const last = db.select({ at: attempts.createdAt }).from(attempts)
    .where(and(ofSubject, gt(attempts.createdAt, p('since')))).orderBy(desc(attempts.createdAt)).limit(1)
    .offset(p('skip')).prepare()
  const byId = db.select({ id: attempts.id }).from(attempts).where(eq(attempts.id, p('id'))).prepare()

  const add = db.insert(attempts).select(
    db.select({
      id: sql<string>`entry.value ->> 'id'`.as('id'),
      kind: sql<string>`entry.value ->> 'kind'`.as('kind'),
      subject: sql<string>`entry.value ->> 'subject'`.as('subject'),
      createdAt: value<number>('at'),
    }).from(sql`json_each(${p('attempts')}) AS entry`).where(sql`NOT EXISTS (${reachedLimit})`),
  ).onConflictDoNothing().returning({ id: attempts.id }).toSQL()

  const remove = db.delete(attempts).where(eq(attempts.id, p('id'))).toSQL()
  const removeAll = db.delete(attempts).where(ofSubject).toSQL()
  const old = db.select({ id: attempts.id }).from(attempts).where(lt(attempts.createdAt, p('before'))).limit(p('max'))
  const removeOld = db.delete(attempts).where(inArray(attempts.id, old)).returning({ id: attempts.id }).toSQL()

  return {
    /** Adds all of them, or none if a limit is reached. Returns a row for each one added. */
    add: (list: Attempt[], limits: AttemptLimit[], at: number): Statement => ({
      ...bind(add, { attempts: JSON.stringify(list), limits: JSON.stringify(limits), at }),
      rows: list.length,
    }),
    has: async (id: string) => (await runQuery(byId, { id })).length > 0,
    /** If the limit is reached: the time of the attempt that must expire before the next is allowed. */
    blockedSince: async ({ kind, subject, max, since }: AttemptLimit): Promise<number | undefined> =>
      (await runQuery(last, { kind, subject, since, skip: max - 1 }))[0]?.at,
    remove: (id: string): Statement => bind(remove, { id }),
    removeAll: (kind: string, subject: string): Statement => bind(removeAll, { kind, subject }),
    /** Deletes at most `max` attempts from before a time. Returns a row for each one deleted. */
    removeOld: (before: number, max: number): Statement => ({ ...bind(removeOld, { before, max }), rows: max }),
  }
}
