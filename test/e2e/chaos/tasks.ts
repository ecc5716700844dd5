/** A2A tasks whose events are sent to the client's webhook. */
import { randomUUID } from 'node:crypto'
import type { Webhook } from '../../support/webhook.ts'
import type { LoadedAgent } from '../load.ts'
import type { Load } from './clients.ts'
import { type Outcome, rpc, settled, tool } from './outcome.ts'
import type { Arrival } from './outside.ts'

/** The steps of each task, in this order. The webhook may be registered after the event `submitted`. */
const steps = ['working', 'artifact', 'completed'] as const
const order = ['submitted', ...steps]

/** The acknowledged steps, as `task step`. */
export type DoneSteps = string[]

/** Starts tasks one after the other, and carries out all steps of each, until the load ends. */
export async function carryOut(
  { base, ledger, ended }: Load,
  { client, doer, webhook }: { client: LoadedAgent; doer: LoadedAgent; webhook: string },
  done: DoneSteps,
): Promise<void> {
  const certain = async (attempt: () => Promise<Outcome>) => {
    const outcome = await settled(attempt, () => ledger.unknown++)
    if ('done' in outcome) return outcome.done
    ledger.surprises.push(`A task: ${outcome.refused}`)
  }
  while (!ended.aborted) {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Work.' }] }
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: webhook } }
    const path = `/a2a/v1/agents/${doer.alias}`
    const params = { message, configuration }
    const started = await certain(() => rpc(base, client.key, path, 'SendMessage', params, message.messageId))
    if (!started) return
    const task_id = started.task.id
    for (const step of steps) {
      const update = step === 'artifact' ? { text: 'Part', artifact: { id: 'a', last_chunk: true } } : { state: step }
      const args = { task_id, ...update, idempotency_key: `${task_id} ${step}` }
      if (!await certain(() => tool(base, doer.key, 'update_task', args))) return
      done.push(`${task_id} ${step}`)
    }
  }
}

/** Returns the task steps that the webhook received. */
export function arrivedSteps({ taken }: Webhook): Arrival[] {
  return taken.map(({ headers, body: { statusUpdate, artifactUpdate } }) => {
    const line = (statusUpdate ?? artifactUpdate).taskId
    const step = statusUpdate ? statusUpdate.status.state.replace('TASK_STATE_', '').toLowerCase() : 'artifact'
    return { line, n: order.indexOf(step), about: `${line} ${step}`, id: String(headers['a2a-notification-id']) }
  })
}
