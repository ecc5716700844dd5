import { and, desc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import { attempts } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { ask, bind, p, type Statement, value } from '../driver/binding.ts'

/** Something that is counted, of one subject. */
export interface Attempt {
  id: string
  kind: string
  subject: string
}

/** Fewer than `max` attempts of a subject since a time. */
export interface Limit {
  kind: string
  subject: string
  max: number
  since: number
}

export function prepareAttempts(db: Db) {
  const ofSubject = and(eq(attempts.kind, p('kind')), eq(attempts.subject, p('subject')))
  const last = db.select({ at: attempts.createdAt }).from(attempts)
    .where(and(ofSubject, gt(attempts.createdAt, p('since')))).orderBy(desc(attempts.createdAt)).limit(1)
    .offset(p('skip')).prepare()
  const byId = db.select({ id: attempts.id }).from(attempts).where(eq(attempts.id, p('id'))).prepare()

  // Lists of any length in one statement: each attempt and each limit is an object of a JSON array.
  const reached = sql`SELECT 1 FROM json_each(${p('limits')}) AS allowed WHERE (
    SELECT count(*) FROM attempts AS seen WHERE seen.kind = allowed.value ->> 'kind'
      AND seen.subject = allowed.value ->> 'subject' AND seen.created_at > allowed.value ->> 'since'
  ) >= allowed.value ->> 'max'`
  const add = db.insert(attempts).select(
    db.select({
      id: sql<string>`entry.value ->> 'id'`.as('id'),
      kind: sql<string>`entry.value ->> 'kind'`.as('kind'),
      subject: sql<string>`entry.value ->> 'subject'`.as('subject'),
      createdAt: value<number>('at'),
    }).from(sql`json_each(${p('attempts')}) AS entry`).where(sql`NOT EXISTS (${reached})`),
  ).onConflictDoNothing().returning({ id: attempts.id }).toSQL()

  const remove = db.delete(attempts).where(eq(attempts.id, p('id'))).toSQL()
  const removeOf = db.delete(attempts).where(ofSubject).toSQL()
  const old = db.select({ id: attempts.id }).from(attempts).where(lt(attempts.createdAt, p('before'))).limit(p('max'))
  const removeOld = db.delete(attempts).where(inArray(attempts.id, old)).returning({ id: attempts.id }).toSQL()

  return {
    /** All of them, or none when a limit is reached. The rows say which. */
    add: (list: Attempt[], limits: Limit[], at: number): Statement => ({
      ...bind(add, { attempts: JSON.stringify(list), limits: JSON.stringify(limits), at }),
      rows: list.length,
    }),
    has: async (id: string) => (await ask(byId, { id })).length > 0,
    /** When a limit is reached: the time of the attempt that has to grow old first. */
    blockedSince: async ({ kind, subject, max, since }: Limit): Promise<number | undefined> =>
      (await ask(last, { kind, subject, since, skip: max - 1 }))[0]?.at,
    remove: (id: string): Statement => bind(remove, { id }),
    removeOf: (kind: string, subject: string): Statement => bind(removeOf, { kind, subject }),
    /** At most `max` of those before a time; a row for each comes back. */
    removeOld: (before: number, max: number): Statement => ({ ...bind(removeOld, { before, max }), rows: max }),
  }
}
