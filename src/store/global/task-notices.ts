/** The follower `task notices`: after a task's event, schedules the push notifications to the task's client. */
import { crossAccountStatement, type Db, type Statement } from '../sql.ts'

const beDue = crossAccountStatement(
  'push notifications of tasks',
  `
  UPDATE task_push_configs SET due_at = :at
  WHERE due_at IS NULL AND ended_at IS NULL AND (account_id, task_id) IN (
    SELECT log.home, log.subject FROM log WHERE log.seq > :after AND log.seq <= :upTo AND log.kind = 'task')`,
)

export const taskNotices = (db: Db) => ({
  /** May be repeated, because each configuration sends the events after its own position. */
  beDue: (batch: { after: number; upTo: number }, at: number): Statement => ({
    ...db.bind(beDue, { ...batch, at }),
    rows: 10,
    isTraffic: true,
  }),
})
