/** Messages that answer a task complete it. See docs/protocol/messages.md, "Tasks". */
import type { AccountStore } from '../../store/account.ts'
import type { NewMessage, ReviewedMessage } from '../../store/account/new-message.ts'
import type { TaskMode } from '../../store/account/task-ends.ts'
import type { Recipient, Sender, SendPart, TaskStep } from './outgoing-message.ts'

/** The step that completes the answered task: that of `repliedTo`, otherwise the newest of the conversation. */
export async function answeredTask(
  account: AccountStore,
  sender: Sender,
  { inbox, openTask }: Recipient,
  { conversationId }: Pick<NewMessage, 'conversationId'>,
  repliedTo: { taskId?: string | null } | undefined,
): Promise<TaskStep | undefined> {
  if (!inbox || (!repliedTo?.taskId && openTask === undefined)) return undefined
  const { tasks } = account.read
  const client = { home: inbox.home, client: inbox.agentId }
  const taskOf = async (id: string | null | undefined) => {
    const task = id ? await tasks.of('recipient', sender.agentId, id) : undefined
    return task && task.expiresAt !== null && task.clientAgentId === inbox.agentId ? task : undefined
  }
  const newest = () =>
    conversationId === null ? openTask : tasks.newestOpen(sender.agentId, { ...client, conversationId })
  const task = await taskOf(repliedTo?.taskId) ?? (openTask === undefined ? undefined : await taskOf(await newest()))
  return task && answerOf(account, sender, task)
}

export function answerOf(
  account: AccountStore,
  sender: Sender,
  task: { id: string; mode: TaskMode; messageId: string; conversationId: string },
): TaskStep {
  const { tasks } = account.change
  const changer = { end: 'recipient' as const, agent: sender.agentId }
  const completed = (messageId: string) => `${messageId} completed`
  return {
    taskId: task.id,
    isInTaskAlone: task.mode !== 'receipt',
    answers: { messageId: task.messageId, conversationId: task.conversationId },
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

export function taskPart({ waiting }: AccountStore, step: TaskStep, message: ReviewedMessage): SendPart {
  const { taskId } = step
  const open = step.open?.(message.id)
  return {
    ...(open && { preconditions: [open] }),
    statements: step.statements(message),
    needsMessage: true,
    refuse: step.check,
    stored() {
      waiting.notifier.wake([taskId])
      return { taskId }
    },
  }
}
