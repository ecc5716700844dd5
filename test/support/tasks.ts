/** Tasks between agents of a test grid. */
import { callingAgent } from '../../src/auth/actor.ts'
import { startTask } from '../../src/grid/tasks/start-task.ts'
import type { Task, TaskEvent } from '../../src/grid/tasks/task.ts'
import { getTask } from '../../src/grid/tasks/tasks.ts'
import { watchTask } from '../../src/grid/tasks/watch-task.ts'
import type { AccountStore } from '../../src/store/account.ts'

/** Starts a task as a client, by default in task mode. */
export async function askFor(
  client: AccountStore,
  text: string,
  more: Partial<Parameters<typeof startTask>[2]> = {},
): Promise<Task> {
  const message = { messageId: `id of ${text}`, parts: [{ text }] }
  const input = { to: '@bob', message, mode: 'task' as const, ...more }
  return await getTask(client, (await startTask(client, callingAgent(client.actor), input)).task.id)
}

/** Returns a task's events after the event number `after`; by default all events. */
export async function eventsOf(client: AccountStore, id: string, after = 0): Promise<TaskEvent[]> {
  const events: TaskEvent[] = []
  for await (const news of watchTask(client, id, { after, heartbeatMs: 60_000 })) {
    if (news !== 'heartbeat' && !('first' in news)) events.push(news)
  }
  return events
}

/** Summarizes events: states, and the text of artifacts. */
export function inShort(events: readonly TaskEvent[]): string[] {
  return events.map((event) =>
    event.type === 'status'
      ? event.status.state
      : event.artifact.parts.map((part) => 'text' in part ? part.text : JSON.stringify(part)).join('')
  )
}
