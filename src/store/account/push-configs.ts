/** Tasks' webhooks, which notify clients of events. See docs/protocol/a2a.md, "Push notifications". */
import type { taskPushConfigs } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import {
  type AccountDb,
  excludedToken,
  insertedToken,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../sql.ts'
import type { ClaimedOutbox } from './remote-agents.ts'
import { taskEnds } from './task-ends.ts'

/** A webhook as stored. `sentN`: the last event that the receiver has accepted. */
export type PushConfig = Omit<typeof taskPushConfigs.$inferSelect, 'accountId' | 'agentId' | keyof OutboxColumns>
type OutboxColumns = Pick<
  typeof taskPushConfigs.$inferSelect,
  'dueAt' | 'attempts' | 'failingSince' | 'error' | 'triedAt' | 'claimedBy'
>

export interface NewPushConfig extends Pick<PushConfig, 'id' | 'configId' | 'url' | 'scheme' | 'version'> {
  /** JSON of the secrets. */
  secrets?: SealedToken
}

export const maxPushConfigs = 10

const columns = `id, task_id, config_id, url, scheme, ${sealedColumns}, version, sent_n, created_at, ended_at`
const isOfTask = 'account_id = :account AND agent_id = :agent AND task_id = :task'
const ofTask = query<PushConfig>(
  `SELECT ${columns} FROM task_push_configs WHERE ${isOfTask} ORDER BY created_at, id`,
)
const isConfig = 'account_id = :account AND agent_id = :agent AND id = :id'
const byId = query<PushConfig>(`SELECT ${columns} FROM task_push_configs WHERE ${isConfig}`)
// A retried unit conflicts with its own row, which stays unchanged.
const put = statement(`
  INSERT INTO task_push_configs (account_id, id, task_id, agent_id, config_id, url, scheme, ${sealedColumns}, version,
    sent_n, created_at)
  SELECT :account, :id, tasks.id, :agent, :config, :url, :scheme, ${insertedToken}, :version, tasks.generation, :at
  FROM tasks
  WHERE ${taskEnds.client} AND tasks.id = :task AND ${maxPushConfigs} > (
    SELECT count(*) FROM task_push_configs AS other
    WHERE other.account_id = :account AND other.task_id = :task AND other.config_id <> :config)
  ON CONFLICT (account_id, id) DO NOTHING
  ON CONFLICT (account_id, task_id, config_id) DO UPDATE SET id = excluded.id, url = excluded.url,
    scheme = excluded.scheme, ${excludedToken}, version = excluded.version, sent_n = excluded.sent_n,
    created_at = excluded.created_at, ended_at = NULL, due_at = NULL, attempts = 0, failing_since = NULL, error = NULL,
    claimed_by = NULL`)
const remove = statement(`DELETE FROM task_push_configs WHERE ${isOfTask} AND config_id = :config`)
const isClaimed = `${isConfig} AND claimed_by = :claim`
const hasMore = (n: string) =>
  `EXISTS (SELECT 1 FROM tasks
    WHERE tasks.account_id = :account AND tasks.id = task_push_configs.task_id AND tasks.generation > ${n})`
const sent = statement(`
  UPDATE task_push_configs SET sent_n = :n, attempts = 0, failing_since = NULL, error = NULL,
    claimed_by = iif(${hasMore(':n')}, claimed_by, NULL), due_at = iif(${hasMore(':n')}, due_at, NULL)
  WHERE ${isClaimed} RETURNING claimed_by`)
const release = statement(`
  UPDATE task_push_configs SET claimed_by = NULL, due_at = iif(${hasMore('sent_n')}, :dueAt, NULL) WHERE ${isClaimed}`)
const end = statement(`
  UPDATE task_push_configs SET claimed_by = NULL, due_at = NULL, error = :error, ended_at = :at WHERE ${isClaimed}`)

export const pushConfigs = {
  reads: (account: AccountDb) => ({
    /** A task's webhooks, oldest first. */
    ofTask: (agent: string, task: string) => account.all(ofTask, { agent, task }),
    byId: (agent: string, id: string) => account.one(byId, { agent, id }),
  }),
  changes: (account: AccountDb) => ({
    /** Adds or replaces a task's webhook for later events, if the agent is the task's client and there is room. */
    put: (agent: string, task: string, { secrets, configId, ...config }: NewPushConfig, at: number): Statement =>
      account.bind(put, { ...(secrets ?? noSecrets), ...config, agent, task, config: configId, at }),
    remove: (agent: string, task: string, configId: string): Statement =>
      account.bind(remove, { agent, task, config: configId }),
    /**
     * Records that the receiver accepted event `n`. Returns `claimed_by`, which is null if no event remains and the
     * attempt has ended. Returns no row if the webhook was removed.
     */
    sent: ({ agent, id, claim }: ClaimedOutbox, n: number): Statement => account.bind(sent, { agent, id, claim, n }),
    /** Ends an attempt. The remaining events are due at `dueAt`. */
    release: ({ agent, id, claim }: ClaimedOutbox, dueAt: number): Statement =>
      account.bind(release, { agent, id, claim, dueAt }),
    end: ({ agent, id, claim }: ClaimedOutbox, error: string, at: number): Statement =>
      account.bind(end, { agent, id, claim, error, at }),
  }),
}

const noSecrets = { encryptedToken: null, tokenIv: null, tokenAuthTag: null, tokenKeyId: null }
