/** Fails tasks that nobody has answered in time, and those whose recipient was deleted. See docs/delivery.md, "Tasks". */
import { newId } from '../lib/id.ts'
import type { Store } from '../store/store.ts'

/** How many tasks are looked at at a time. */
const maxTasks = 100

const inTime = 'The time limit passed without an answer.'
const deleted = 'The recipient was deleted.'

/** Fail every task whose time is over. Several processes may do this at the same time. */
export async function failTasks(store: Store, signal?: AbortSignal): Promise<void> {
  const { deps: { now }, global: { retention }, waiting: { notifier } } = store
  for (let count = maxTasks; count === maxTasks && !signal?.aborted;) {
    const found = await retention.tasksToFail(now(), maxTasks)
    count = found.length
    const failing = found.map(({ accountId, id, expiresAt }) => {
      const account = store.account(accountId, { type: 'system', job: 'tasks' })
      const reason = expiresAt === 0 ? deleted : inTime
      const change = { task: id, event: newId(), at: now(), state: 'failed' as const, reason }
      return account.write(account.change.tasks.change({ end: 'grid' }, change))
    })
    await Promise.all(failing)
    notifier.wake(found.map(({ id }) => id))
  }
}
