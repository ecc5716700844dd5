import { eq, sql } from 'drizzle-orm'
import { instances, openReads } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, p, type Statement } from '../driver/binding.ts'

/** Most open reads of one look. */
const most = 1_000

/** The processes that serve this database, and the hand-outs whose answers they have under way. */
export function prepareInstances(db: Db, crossings: Crossings) {
  const all = db.select({ id: instances.id, beats: instances.beats }).from(instances).prepare()
  const beat = db.insert(instances).values({ id: p('id'), beats: p('beats'), createdAt: p('at') })
    .onConflictDoUpdate({ target: instances.id, set: { beats: sql`excluded.beats` } }).toSQL()
  const remove = db.delete(instances).where(eq(instances.id, p('id'))).toSQL()

  const open = db.select({
    accountId: openReads.accountId,
    agentId: openReads.agentId,
    batchId: openReads.batchId,
    instanceId: openReads.instanceId,
    createdAt: openReads.createdAt,
  }).from(openReads).orderBy(openReads.createdAt).limit(most).prepare()
  crossings.set(open.getQuery().sql, 'open reads')

  return {
    all: () => ask(all),
    /** Say that a process lives, with a number that is higher each time. */
    beat: (id: string, beats: number, at: number): Statement => bind(beat, { id, beats, at }),
    remove: (id: string): Statement => bind(remove, { id }),
    /** Open reads of every account and process, the oldest first: ids and times leave this look-up. */
    openReads: () => ask(open),
  }
}
