/** The tasks of an account, for its people. */
import { allows } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import type { SeenTask } from '../../store/account/seen-tasks.ts'
import { isReadBySwitch, mayRead, placeOf, readerOf, recordReading } from './may-read.ts'
import { isTerminal, type TaskState, taskStates } from '../tasks/task.ts'

/** The filters of the list. */
export const taskFilters = {
  open: taskStates.filter((state) => !isTerminal(state)),
  input: ['input-required'],
  auth: ['auth-required'],
  failed: ['failed', 'rejected'],
  completed: ['completed'],
  canceled: ['canceled'],
} as const satisfies Record<string, readonly TaskState[]>

export type TaskFilterName = keyof typeof taskFilters

/** `text` and `why` are empty if the caller may not read them. */
export interface ListedTask extends SeenTask {
  isReadable: boolean
}

/**
 * Returns tasks to or from agents of the account, last changed first. Members and viewers get only their own. `hasMore`
 * means that another page follows.
 */
export async function listSeenTasks(
  account: AccountStore,
  { filter, page, requestId }: { filter: TaskFilterName | undefined; page: number; requestId: string | null },
): Promise<{ tasks: ListedTask[]; hasMore: boolean }> {
  const pageSize = 50
  const states = filter ? taskFilters[filter] : null
  const reader = await readerOf(account)
  // Members and viewers see only their own tasks. Without an alias they see none, because no agent has the empty id.
  const agent = allows(reader.role, 'manage') ? null : reader.personAlias?.agentId ?? ''
  const found = await account.read.seenTasks.list(states, agent, pageSize + 1, (page - 1) * pageSize)
  let isOfOthers = false
  const tasks = found.slice(0, pageSize).map((task) => {
    const { clientAgentId, recipientAgentId, createdAt } = task
    const place = placeOf(reader, { channelId: null, agents: [clientAgentId, recipientAgentId] })
    const isReadable = mayRead(reader, place, createdAt)
    if (isReadable && isReadBySwitch(reader, place, createdAt)) isOfOthers = true
    return { ...task, ...isReadable ? {} : { text: '', why: null }, isReadable }
  })
  if (isOfOthers) await recordReading(account, { list: 'tasks' }, requestId)
  return { tasks, hasMore: found.length > pageSize }
}
