/** Retracts a message that no reader has received. See docs/delivery.md, "Messages that end". */
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { retractScheduled } from './send-later.ts'
import type { Sender } from '../message/outgoing-message.ts'

/** The text of a retracted message for people who may see that it existed. */
const retractedText = 'Retracted'

export interface RetractedMessage {
  message_id: string
  recipient: string
  delivery: 'retracted'
}

/**
 * Retracts `sender`'s message from all its recipients, with its files, and cancels its task. Safe to repeat. Fails with
 * `message_not_found`, or with `message_read` if a reader has it: any member of a channel, or a remote agent that it is
 * being sent to.
 */
export async function retractMessage(
  account: AccountStore,
  { agentId, alias }: Sender,
  messageId: string,
): Promise<RetractedMessage> {
  const id = messageId.toLowerCase()
  return await retryOnConflict(async () => {
    const scheduled = await retractScheduled(account, { agentId, alias }, id)
    if (scheduled) return { message_id: id, recipient: scheduled.recipient, delivery: 'retracted' }
    const found = await account.read.endings.retractable(id, agentId)
    if (!found) throw new GridError('message_not_found', 'You have not sent a message with this id.')
    if (found.isRead) {
      throw new GridError(
        'message_read',
        'A reader already has this message, or it was sent to a remote agent. It cannot be retracted.',
      )
    }
    const { recipient, taskId } = found
    const at = account.deps.now()
    const notice = { id: newId(), at, body: `@${alias} canceled task ${taskId}. It expects no answer any more.` }
    await account.write([
      ...account.change.endings.retract(id, agentId, retractedText, at),
      account.change.held.retract(id, at),
      ...taskId === null ? [] : account.change.tasks.change({ end: 'client', agent: agentId }, {
        ...{ task: taskId, event: 'retracted', at, state: 'canceled' as const, reason: 'Its message was retracted.' },
      }),
      ...taskId === null ? [] : account.change.tasks.withdraw(agentId, taskId, 'retracted', notice),
    ])
    return { message_id: id, recipient, delivery: 'retracted' }
  })
}
