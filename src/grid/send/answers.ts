/**
 * A message's effect on a task: a reply to a task's message completes the task. See docs/protocol/messages.md, "Tasks".
 */
import type { AccountStore } from '../../store/account.ts'
import type { TaskMode } from '../../store/account/task-ends.ts'
import type { Concern, Recipient, RepliedTo, Sender, TaskStep } from '../message/outgoing-message.ts'

export const answers: Concern = {
  plan({ message, step }) {
    if (!step) return undefined
    const { taskId } = step
    const open = step.open?.(message.id)
    const part = { ...(open && { preconditions: [open] }), needsMessage: true, explain: step.check }
    // A held message takes effect when it is delivered.
    if (message.held && step.later) return part
    return { ...part, statements: step.statements(message), stored: () => ({ taskId }) }
  },
}

/** Returns the step that completes the open task if the task's recipient replies to its message. */
export async function answeredTask(
  account: AccountStore,
  sender: Sender,
  { inbox }: Recipient,
  repliedTo: RepliedTo | undefined,
): Promise<TaskStep | undefined> {
  if (!repliedTo?.taskId) return undefined
  const task = await account.read.tasks.of('recipient', sender.agentId, repliedTo.taskId)
  const isAnswered = task && task.expiresAt !== null && task.clientAgentId === inbox?.agentId
  return isAnswered ? answerOf(account, sender, task) : undefined
}

export function answerOf(account: AccountStore, sender: Sender, task: { id: string; mode: TaskMode }): TaskStep {
  const { tasks } = account.change
  const changer = { end: 'recipient' as const, agent: sender.agentId }
  const completed = (messageId: string) => `${messageId} completed`
  return {
    taskId: task.id,
    isInTaskAlone: task.mode !== 'receipt',
    later: {},
    open: (messageId) => tasks.requireOpen(changer, task.id, completed(messageId)),
    statements: ({ id, at }) => [
      tasks.addMessage(changer, task.id, id, 'result'),
      ...tasks.change(changer, { task: task.id, event: id, at, state: null, message: id }),
      tasks.addChunk(changer, {
        task: task.id,
        event: id,
        artifactId: id,
        append: false,
        lastChunk: true,
        name: null,
        parts: null,
      }),
      ...tasks.change(changer, { task: task.id, event: completed(id), at, state: 'completed' }),
    ],
  }
}
