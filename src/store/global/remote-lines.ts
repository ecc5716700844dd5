/** The lines of requests to remote agents that are due, over all accounts. */
import { crossAccountQuery, type Db } from '../sql.ts'

/** A request that is due: the next message of a remote agent, or a look at what became of the message `id`. */
/** A line of messages to a remote agent, or of questions what became of one. */
export type LineKind = 'inbox' | 'exchange'

export interface DueLine {
  kind: LineKind
  accountId: string
  agentId: string
  /** Without `@`. */
  alias: string
  id: string
  remoteUrl: string
}

/** The condition that no live process holds the row. `:instance` is this process, and only a remote database lists others. */
export const isFree = `(held_by IS NULL
    OR (substr(held_by, 1, 36) <> :instance AND substr(held_by, 1, 36) NOT IN (SELECT instances.id FROM instances)))`

const dueOf = (kind: DueLine['kind'], table: string, id: string) => `
  SELECT '${kind}' AS kind, line.account_id, line.agent_id, agents.alias, line.${id} AS id, agents.remote_url, line.due_at
  FROM ${table} AS line JOIN agents ON agents.account_id = line.account_id AND agents.id = line.agent_id
  WHERE line.due_at <= :now AND agents.deleted_at IS NULL AND agents.remote_url IS NOT NULL AND ${isFree}
    AND NOT EXISTS (SELECT 1 FROM json_each(:busy) WHERE instr(agents.remote_url, value || '/') = 1)`
const due = crossAccountQuery<DueLine>(
  'requests to remote agents that are due',
  `${dueOf('inbox', 'remote_agents', 'agent_id')} UNION ALL ${dueOf('exchange', 'remote_exchanges', 'id')}
  ORDER BY due_at LIMIT :limit`,
)

export const remoteLines = (db: Db) => ({
  /** What is due and not held, longest due first; nothing of the origins in `busy`. */
  due: (now: number, instance: string, busy: readonly string[], limit: number) =>
    db.all(due, { now, instance, busy: JSON.stringify(busy), limit }),
})
