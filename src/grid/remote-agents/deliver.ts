/** Carrying the messages of a remote agent to it, one after the other. See docs/delivery.md, "Remote agents". */
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import { readCard, type RemoteAddress, type RemoteCard } from '../../remote/card.ts'
import { lookAtTask, type RemoteAnswer, sendToRemote } from '../../remote/client.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { RemoteExchange } from '../../store/account/remote-agents.ts'
import type { Attempt } from './attempt.ts'
import { deliverAnswer, tellOfFailure } from './answers.ts'
import { partsOf } from './outgoing-parts.ts'
import { addressOf } from './remote-agents.ts'

/** Delays before the retries; the last one repeats. See docs/delivery.md, "Remote agents". */
const retryAfterMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour]
const givenUpAfterMs = day
const cardLifetimeMs = hour
/** Each grid that sends a message on counts as one. */
const maxCrossings = 8
/** How long a task may work. */
const maxWorkMs = 7 * day

/** Send the oldest unread message of the agent. Resolves to whether the server was reached. */
export async function deliverNext(attempt: Attempt): Promise<boolean> {
  const { account: { actor, read, write, change: { inbox, remoteAgents }, deps }, line } = attempt
  const [message] = await read.inbox.nextUnread(actor.agentId, 1)
  if (!message) {
    await write([remoteAgents.accepted(line, deps.now())])
    return true
  }
  const conversation = message.conversationId ?? message.fromAlias
  const giveUp = async (reason: string) => {
    await tellOfFailure(attempt, message, reason)
    const exchange = { id: message.id, conversation, contextId: null, taskId: null, state: 'ended' as const }
    await write([
      remoteAgents.park(actor.agentId, message.id, deps.now()),
      ...remoteAgents.putExchange(actor.agentId, { ...exchange, dueAt: null, error: reason }, deps.now()),
      remoteAgents.accepted(line, deps.now()),
    ])
  }
  return await tried(attempt, giveUp, async () => {
    const before = await read.remoteAgents.newest(actor.agentId, conversation)
    const { address, card } = await findRemote(attempt)
    const answer = await sendToRemote(streamOf(attempt), address, card, {
      messageId: message.id,
      parts: await partsOf(attempt.account, message),
      ...(before?.contextId && { contextId: before.contextId }),
      ...(before?.taskId && before.state === 'input-required' && { taskId: before.taskId }),
      metadata: { hops: message.hops, crossings: crossingsOf(message), from: `@${message.fromAlias}` },
    })
    const exchange = await settled(attempt, message, answer, deps.now())
    await write([
      inbox.markRead(actor.agentId, [message.id], deps.now()),
      ...remoteAgents.putExchange(actor.agentId, { ...exchange, id: message.id, conversation }, deps.now()),
      remoteAgents.accepted(line, deps.now()),
    ])
    if (message.taskId !== null) attempt.account.waiting.notifier.wake([message.taskId])
  })
}

/** Ask what became of an accepted message. Resolves to whether the server was reached. */
export async function followExchange(attempt: Attempt): Promise<boolean> {
  const { account: { actor, read, write, change: { remoteAgents }, deps }, line } = attempt
  const exchange = await read.remoteAgents.exchange(actor.agentId, line.id)
  const message = await read.inbox.message(actor.agentId, line.id)
  const put = (change: Partial<RemoteExchange>) =>
    write(remoteAgents.putExchange(actor.agentId, { ...exchange!, dueAt: null, error: null, ...change }, deps.now()))
  // What the agent was asked was removed, so there is nothing to answer.
  if (!exchange?.taskId || !message) {
    if (exchange) await put({ state: 'ended' })
    return true
  }
  const { taskId } = exchange
  const giveUp = async (reason: string) => {
    await tellOfFailure(attempt, message, reason)
    await put({ state: 'ended', error: reason })
  }
  return await tried(attempt, giveUp, async () => {
    if (deps.now() - exchange.createdAt > maxWorkMs) return await giveUp('It has not answered within 7 days.')
    const { address, card } = await findRemote(attempt)
    const answer = await lookAtTask(streamOf(attempt), address, card, taskId)
    await put(await settled(attempt, message, answer, exchange.createdAt))
  })
}

/** Pass on an answer. Resolves to what the exchange is then. */
async function settled(
  attempt: Attempt,
  message: InboxMessage,
  answer: RemoteAnswer,
  since: number,
): Promise<Pick<RemoteExchange, 'state' | 'contextId' | 'taskId' | 'error' | 'dueAt'>> {
  const { deps } = attempt.account
  const { state, contextId = null, taskId = null } = answer
  const exchange = { contextId, taskId, error: null, dueAt: null }
  if (state === 'working' && taskId !== null) {
    return { ...exchange, state: 'working', dueAt: deps.now() + pauseAfter(deps.now() - since) }
  }
  const error = await deliverAnswer(attempt, message, answer)
  return { ...exchange, error, state: state === 'input-required' ? 'input-required' : 'ended' }
}

/** How many grids a message has been sent on by, this one included. Fails when it probably runs in a circle. */
function crossingsOf({ a2a }: InboxMessage): number {
  const before = Number(JSON.parse(a2a ?? '{}').metadata?.crossings)
  const crossings = Number.isInteger(before) ? before + 1 : 1
  if (crossings > maxCrossings) {
    throw new RemoteRefusal(`It has crossed ${maxCrossings} grids, as a message in a circle does.`)
  }
  return crossings
}

/** Each second at first, then slower and slower, up to each minute. */
function pauseAfter(workedMs: number): number {
  return workedMs < 30 * second ? second : Math.min(minute, workedMs / 10)
}

async function tried(
  { account, line, signal }: Attempt,
  giveUp: (reason: string) => Promise<void>,
  attempt: () => Promise<void>,
): Promise<boolean> {
  try {
    await attempt()
    return true
  } catch (error) {
    if (signal.aborted) return true
    if (error instanceof RemoteRefusal) {
      await giveUp(error.message)
      return true
    }
    const { read: { remoteAgents }, change, deps } = account
    const at = deps.now()
    const { attempts = 0, failingSince } =
      await (line.kind === 'inbox' ? remoteAgents.byId(line.agent) : remoteAgents.exchange(line.agent, line.id)) ?? {}
    if (at - (failingSince ?? at) >= givenUpAfterMs) await giveUp('It could not be reached for 24 hours.')
    else {
      const pause = retryAfterMs[Math.min(attempts, retryAfterMs.length - 1)]
      await account.write([change.remoteAgents.failed(line, reasonOf(error), at, at + pause)])
    }
    if (!(error instanceof RemoteError)) deps.log.warn('A message to a remote agent was not sent', { error })
    return !(error instanceof RemoteError)
  }
}

/** In words, for the people of the account. */
function reasonOf(error: unknown): string {
  if (!(error instanceof RemoteError)) return 'The grid could not store the answer.'
  const reasons = {
    refused: 'Its address is not allowed.',
    not_connected: 'No connection.',
    timeout: 'It took too long.',
    aborted: 'The request was ended.',
    redirected: 'It redirects.',
    too_large: 'Its answer is too large.',
    invalid_response: 'Its answer is not A2A.',
  }
  return reasons[error.reason]
}

function streamOf({ account: { deps }, signal }: Attempt): typeof deps.safeStream {
  return (url, init) => deps.safeStream(url, { ...init, signal })
}

/** Where the agent is, and its card, which is read again after an hour. */
async function findRemote(attempt: Attempt): Promise<{ address: RemoteAddress; card: RemoteCard }> {
  const { account } = attempt
  const { actor: { agentId }, read, change: { remoteAgents }, deps, write } = account
  const row = await read.remoteAgents.byId(agentId)
  if (!row) throw new RemoteRefusal('It has no address any more.')
  const address = await addressOf(account, agentId, row)
  const kept: RemoteCard | undefined = row.card === null ? undefined : JSON.parse(row.card)
  if (kept && deps.now() - row.cardAt! < cardLifetimeMs) return { address, card: kept }
  try {
    const card = await readCard(streamOf(attempt), address)
    await write([remoteAgents.putCard(agentId, JSON.stringify(card), deps.now())])
    return { address, card }
  } catch (error) {
    // The agent may work although its card is out of reach for a moment.
    if (kept && !(error instanceof RemoteRefusal)) return { address, card: kept }
    throw error
  }
}
