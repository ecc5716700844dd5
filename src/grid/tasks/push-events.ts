/** Sends a task's events to a webhook. See docs/protocol/a2a.md, "Push notifications". */
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { second } from '../../lib/time.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PushConfig } from '../../store/account/push-configs.ts'
import type { Attempt } from '../outboxes/attempt.ts'
import { withRetries } from '../outboxes/retry.ts'
import { roomFor } from '../answer-room.ts'
import type { PushSecrets } from './push-configs.ts'
import { shownEvents, shownTasks } from './shown-task.ts'
import type { Task, TaskEvent } from './task.ts'
import { clientOf, findTask, maxTaskBytes } from './tasks.ts'

/** One event for one webhook. */
export interface PushNotice extends PushSecrets {
  config: PushConfig
  task: Pick<Task, 'id' | 'contextId'>
  event: TaskEvent
  /** The whole task as of the event. */
  taskThen(): Promise<Task>
}

/** Sends an event. Resolves to the HTTP status, or fails with a `RemoteError`. */
export type SendNotice = (attempt: Attempt, notice: PushNotice) => Promise<number>

/** Timeout of one attempt, so that a slow webhook does not block others. */
const maxAttemptMs = 10 * second
/** How long a webhook pauses while other tasks of its account use the memory that a complete task needs. */
const noRoomMs = 5 * second

/** Sends a webhook's pending events, one at a time. Resolves like an `OutboxAttempt`. */
export async function pushEvents(attempt: Attempt, send: SendNotice): Promise<boolean> {
  const { account: { actor, read, write, change: { pushConfigs }, deps }, outbox } = attempt
  const config = await read.pushConfigs.byId(actor.agentId, outbox.id)
  if (!config) return true
  const until = performance.now() + maxAttemptMs
  let status = 0
  const giveUp = async (reason: string) => {
    await write([pushConfigs.end(outbox, reason, deps.now())])
    deps.log.info('Push notifications for a task were abandoned', { task: config.taskId, reason })
  }
  const endAttempt = async (pauseMs: number) => {
    await write([pushConfigs.release(outbox, deps.now() + pauseMs)])
  }
  const isReached = await withRetries(attempt, giveUp, async () => {
    const secrets = await secretsOf(attempt.account, config)
    for (let after = config.sentN; performance.now() < until;) {
      const { event, task, bytes, taskThen } = await eventAfter(attempt.account, config.taskId, after)
      if (!event) break
      const release = roomFor(attempt.account, config.version === '0.3' ? bytes : 0)
      if (typeof release !== 'function') return await endAttempt(noRoomMs)
      try {
        status = await send(attempt, { config, task, event, taskThen, ...secrets })
      } finally {
        release()
      }
      if (status === 410) throw new RemoteRefusal('It answered 410.')
      if (status < 200 || status > 299) throw new RemoteError('invalid_response', `${status}`)
      after = event.n
      const [claimed] = await write([pushConfigs.sent(outbox, after)])
      if (!claimed[0]?.claimed_by) return
    }
    await endAttempt(0)
  })
  // A refusal at one path says nothing about a server's other paths.
  return isReached || (status >= 400 && status < 500)
}

async function secretsOf(account: AccountStore, config: PushConfig): Promise<PushSecrets> {
  const { id, encryptedToken, tokenIv, tokenAuthTag, tokenKeyId } = config
  if (encryptedToken === null) return {}
  const sealed = { encryptedToken, tokenIv: tokenIv!, tokenAuthTag: tokenAuthTag!, tokenKeyId: tokenKeyId! }
  return JSON.parse(await account.open('task_push_configs', id, sealed))
}

async function eventAfter(account: Attempt['account'], id: string, after: number) {
  const viewer = clientOf(account)
  const row = await findTask(account, id)
  const rows = await account.read.tasks.eventsAfter(viewer.agentId, id, after, 1)
  const [event] = await shownEvents(viewer, id, rows)
  return {
    event: event as TaskEvent | undefined,
    task: { id, contextId: row.contextId },
    bytes: Math.min(row.bytes, maxTaskBytes),
    taskThen: async () => (await shownTasks(viewer, [row], { withArtifacts: true, upTo: event }))[0],
  }
}
