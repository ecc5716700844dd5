/**
 * Delivers messages to a remote agent, one at a time per sender. See docs/protocol/remote-agents.md, "How messages are
 * sent".
 */
import { numberOf } from '../../lib/text.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import { lookAtTask, type RemoteAnswer, sendToRemote } from '../../remote/client.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { RemoteTask } from '../../store/account/remote-agents.ts'
import type { Attempt, Transport } from '../outboxes/attempt.ts'
import { deliverAnswer, notifyOfFailure } from './answers.ts'
import { partsOf } from './outgoing-parts.ts'
import { callbackOf } from './callback.ts'
import { findRemote, streamOf } from './find-remote.ts'
import { withRetries } from '../outboxes/retry.ts'

/** Each grid that forwards a message counts as one hop. */
const maxCrossings = 8
/** Maximum duration of a remote task. */
const maxWorkMs = 7 * day
/** Polling interval while the sender is waiting. */
const pauseWhileAwaitedMs = 2 * second
/** Polling interval for an agent whose feature is disabled on this grid. */
const withoutFeatureMs = hour

/**
 * Sends the oldest unread message of a sender, by the agent's transport if it has one. Resolves to whether the server
 * responded correctly. Without the transport's feature, messages wait.
 */
export async function deliverNext(attempt: Attempt, transports: ReadonlyMap<string, Transport>): Promise<boolean> {
  const { account: { actor, read, write, change: { inbox, remoteAgents }, deps }, outbox, messageId } = attempt
  // Once claimed, the message no longer expires.
  const message = messageId === undefined ? undefined : await read.inbox.message(actor.agentId, messageId, 0)
  if (!message) {
    await write(remoteAgents.accepted(outbox, deps.now()))
    return true
  }
  attempt.account.trace.spans?.follow(message)
  // Not sent, because otherwise two remote agents could report their failures to each other endlessly.
  if (message.type === 'system') {
    await write([
      ...inbox.markRead(actor.agentId, [message.id], deps.now()),
      ...remoteAgents.accepted(outbox, deps.now()),
    ])
    return true
  }
  const name = await read.remoteAgents.transport(actor.agentId)
  if (name !== null) {
    const transport = transports.get(name)
    if (transport) return await transport(attempt, message)
    const error = `Its messages wait, because this grid runs without the feature "${name}".`
    await write([remoteAgents.putOff(outbox, { error, dueAt: deps.now() + withoutFeatureMs }, deps.now())])
    return true
  }
  // The sender is part of the key, so that other senders cannot join by naming the conversation id.
  const conversation = JSON.stringify([message.fromAlias, message.recipient, message.conversationId])
  const remoteTask = { id: message.id, conversation, sends: attempt.number, sentAt: attempt.at }
  const giveUp = async (told: string, said?: string) => {
    const at = deps.now()
    const error = await notifyOfFailure(attempt, message, told, said)
    const ended = { ...remoteTask, contextId: null, taskId: null, state: 'ended' as const, dueAt: null, error }
    await write([
      remoteAgents.park(actor.agentId, message.id, deps.now()),
      ...remoteAgents.putRemoteTask(actor.agentId, ended, at),
      ...remoteAgents.accepted(outbox, deps.now()),
    ])
  }
  return await withRetries(attempt, giveUp, async () => {
    const before = await read.remoteAgents.newest(actor.agentId, conversation)
    const { address, card, answerMs, callbackSecret } = await findRemote(attempt)
    const callback = callbackOf(deps.config, callbackSecret, message.id)
    const answer = await sendToRemote(streamOf(attempt), address, card, {
      messageId: message.id,
      parts: await partsOf(attempt.account, message),
      ...(before?.contextId && { contextId: before.contextId }),
      ...(before?.taskId && before.state === 'input-required' && { taskId: before.taskId }),
      metadata: {
        hops: message.hops,
        crossings: crossingsOf(message),
        from: `@${message.fromAlias}`,
        via: message.via ?? undefined,
      },
    }, { callback, answerMs })
    const at = deps.now()
    const accepted = { ...remoteTask, ...await passedOn(attempt, message, answer, at) }
    await write([
      ...inbox.markRead(actor.agentId, [message.id], deps.now()),
      ...remoteAgents.putRemoteTask(actor.agentId, accepted, at),
      ...remoteAgents.accepted(outbox, deps.now()),
    ])
  })
}

/** Polls the state of an accepted message. Resolves like `deliverNext`. */
export async function followRemoteTask(attempt: Attempt): Promise<boolean> {
  const { account: { actor, read, write, change: { remoteAgents }, deps }, outbox } = attempt
  const remoteTask = await read.remoteAgents.remoteTask(actor.agentId, outbox.id)
  const message = await read.inbox.message(actor.agentId, outbox.id, deps.now())
  const put = (change: Partial<RemoteTask>) =>
    write(
      remoteAgents.putRemoteTask(actor.agentId, { ...remoteTask!, dueAt: null, error: null, ...change }, deps.now()),
    )
  // Without a remote task or its message, there is nothing to answer.
  if (!remoteTask?.taskId || !message) {
    if (remoteTask) await put({ state: 'ended' })
    return true
  }
  attempt.account.trace.spans?.follow(message)
  const { taskId } = remoteTask
  const giveUp = async (told: string, said?: string) => {
    const reason = await notifyOfFailure(attempt, message, told, said)
    await put({ state: 'ended', error: reason })
  }
  return await withRetries(attempt, giveUp, async () => {
    if (deps.now() - remoteTask.createdAt > maxWorkMs) return await giveUp('It has not answered within 7 days.')
    const { address, card } = await findRemote(attempt)
    const answer = await lookAtTask(streamOf(attempt), address, card, taskId)
    await put(await passedOn(attempt, message, answer, remoteTask.createdAt))
  })
}

/** Forwards an answer to the message's sender. Resolves to the state of the remote task. */
async function passedOn(
  attempt: Attempt,
  message: InboxMessage,
  answer: RemoteAnswer,
  since: number,
): Promise<Pick<RemoteTask, 'state' | 'contextId' | 'taskId' | 'error' | 'dueAt'>> {
  const { deps } = attempt.account
  const { state, contextId = null, taskId = null } = answer
  const remoteTask = { contextId, taskId, error: null, dueAt: null }
  if (state === 'working' && taskId !== null) {
    const pause = pauseAfter(deps.now() - since)
    const isSoon = pause > pauseWhileAwaitedMs && await isAwaited(attempt, message)
    return { ...remoteTask, state: 'working', dueAt: deps.now() + (isSoon ? pauseWhileAwaitedMs : pause) }
  }
  const error = await deliverAnswer(attempt, message, answer)
  return { ...remoteTask, error, state: state === 'input-required' ? 'input-required' : 'ended' }
}

/** Returns how many grids have forwarded a message, including this one. Fails if it is probably in a loop. */
function crossingsOf({ a2a }: InboxMessage): number {
  const before = numberOf(JSON.parse(a2a ?? '{}').metadata?.crossings)
  const crossings = Number.isInteger(before) ? Math.max(0, before) + 1 : 1
  if (crossings > maxCrossings) {
    throw new RemoteRefusal(`It has crossed ${maxCrossings} grids, so it is probably going in circles.`)
  }
  return crossings
}

/** Whether the sender waits for an answer in this process. */
async function isAwaited({ account }: Attempt, { fromAlias, taskId }: InboxMessage): Promise<boolean> {
  const { waiting: { notifier }, read } = account
  if (taskId !== null && notifier.isFollowed(taskId)) return true
  const sender = await read.agents.byAlias(fromAlias)
  return sender !== undefined && notifier.isAwaited(sender.id)
}

/** Returns the pause before the next poll: one second at first, growing to one minute. */
function pauseAfter(workedMs: number): number {
  return workedMs < 30 * second ? second : Math.min(minute, workedMs / 10)
}
