/** Due reservations of all accounts. See docs/protocol/reservations.md, "Their end". */
import { day } from '../../lib/time.ts'
import type { ToolCallTime } from '../../presence.ts'
import { crossAccountQuery, crossAccountStatement, type Db, type Statement } from '../sql.ts'

/** Maximum extension of a reservation beyond its first end, while its agent calls tools. */
const maxExtraMs = day

const calls = `json_each(:calls) AS call`
const ofCall =
  `reservations.account_id = call.value ->> '$.account' AND reservations.agent_id = call.value ->> '$.agent'`
const ofCallers = crossAccountQuery<{ n: number }>(
  'reservations of agents that called tools',
  `SELECT count(*) AS n FROM ${calls} CROSS JOIN reservations ON ${ofCall}`,
)
const noteCalls = crossAccountStatement(
  'reservations of agents that called tools',
  `UPDATE reservations SET called_at = max(reservations.called_at, call.value ->> '$.at') FROM ${calls} WHERE ${ofCall}`,
)

const isOpen = `reservations.task_id IS NULL OR EXISTS (SELECT 1 FROM tasks
  WHERE tasks.account_id = reservations.task_home AND tasks.id = reservations.task_id
    AND tasks.expires_at IS NOT NULL)`
const isAgentLive = `EXISTS (SELECT 1 FROM agents WHERE agents.account_id = reservations.account_id
  AND agents.id = reservations.agent_id AND agents.deleted_at IS NULL)`
const latest = `reservations.created_at + reservations.length_ms + ${maxExtraMs}`
const goOn = crossAccountStatement(
  'reservations that go on',
  `
  UPDATE reservations SET ends_at = min(ends_at + length_ms, ${latest}), looked_at = :now
  WHERE ends_at <= :now AND called_at > looked_at AND ends_at < ${latest} AND ${isAgentLive} AND (${isOpen})`,
)
const ended = crossAccountQuery<{ accountId: string; agentId: string; ids: string; isDeleted: number; isDone: number }>(
  'reservations that have ended',
  `
  SELECT account_id, agent_id, json_group_array(id) AS ids, NOT ${isAgentLive} AS is_deleted, NOT (${isOpen}) AS is_done
  FROM reservations WHERE n IN (
    SELECT n FROM reservations WHERE ends_at <= :now
    UNION ALL SELECT n FROM reservations WHERE task_id IS NOT NULL AND NOT (${isOpen}) LIMIT :limit)
  GROUP BY account_id, agent_id`,
)

export const reservations = (db: Db) => ({
  /** Whether any of these agents has a reservation. */
  areOf: async (calls: readonly ToolCallTime[]): Promise<boolean> =>
    (await db.one(ofCallers, { calls: JSON.stringify(calls) }))!.n > 0,
  noteCalls: (calls: readonly ToolCallTime[]): Statement => ({
    ...db.bind(noteCalls, { calls: JSON.stringify(calls) }),
    rows: calls.length,
  }),
  /** Extends reservations of agents that called a tool since the last check, by their initial duration. */
  goOn: (now: number): Statement => db.bind(goOn, { now }),
  /** Due reservations, by agent: they expired, their agent was deleted, or their task has ended. */
  ended: async (now: number, limit: number) =>
    (await db.all(ended, { now, limit })).map(({ ids, isDeleted, ...row }) => ({
      ...row,
      ids: JSON.parse(ids) as string[],
      isDeleted: isDeleted === 1,
    })),
})
