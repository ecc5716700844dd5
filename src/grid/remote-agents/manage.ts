/** Shows and manages a remote agent. See docs/protocol/remote-agents.md, "How messages are sent". */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { NoCard, readCard, type RemoteAddress, type RemoteCard } from '../../remote/card.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import type { RemoteAgentRow } from '../../store/account/remote-agents.ts'
import { findProgram } from '../agents/find-agent.ts'
import { addressOf } from './find-remote.ts'

/** The result of fetching a card: the card, or the reason for its absence. */
export type FoundCard = { card: RemoteCard } | { problem: string }

/**
 * Fetches the card at a URL. Failing to read the card is no error, because the agent may be temporarily unreachable.
 */
export async function findCard({ deps }: Pick<AccountStore, 'deps'>, address: RemoteAddress): Promise<FoundCard> {
  try {
    return { card: await readCard(deps.safeStream, address) }
  } catch (error) {
    if (error instanceof RemoteRefusal) return { problem: error.message }
    if (error instanceof NoCard) return { problem: `No card was found there (${error.reason}). Tried ${error.tried}.` }
    if (error instanceof GridError) return { problem: error.message }
    throw error
  }
}

/** Fetches and stores an agent's card. `agent` is an id or alias. Fails with `agent_not_found`. */
export async function readCardAgain(account: AccountStore, ref: string): Promise<FoundCard> {
  requireAdmin(account.actor)
  const { id: agentId } = await findProgram(account, ref)
  const row = await account.read.remoteAgents.byId(agentId)
  if (!row || row.transport !== null) throw new GridError('agent_not_found', `${ref} is not a remote agent of A2A.`)
  const found = await findCard(account, await addressOf(account, agentId, row))
  if ('card' in found) {
    await account.write([
      account.change.remoteAgents.putCard(agentId, JSON.stringify(found.card), account.deps.now()),
    ])
  }
  return found
}

/** Sends an agent's waiting messages now, instead of at the next scheduled attempt. `agent` is an id or alias. */
export async function tryNow(account: AccountStore, ref: string): Promise<void> {
  requireAdmin(account.actor)
  const { id } = await findProgram(account, ref)
  await account.write([account.change.remoteAgents.tryNow(id, account.deps.now())])
}

/** Pauses delivery to an agent (id or alias), or resumes it. Messages that the agent has accepted are still polled. */
export async function setPaused(account: AccountStore, ref: string, isPaused: boolean): Promise<void> {
  requireAdmin(account.actor)
  const { id } = await findProgram(account, ref)
  const { change: { remoteAgents }, deps } = account
  await account.write(isPaused ? [remoteAgents.pause(id, deps.now())] : remoteAgents.resume(id, deps.now()))
}

type Shown = 'dueAt' | 'attempts' | 'failingSince' | 'error' | 'triedAt' | 'pausedAt' | 'answerMs' | 'transport'

/** The state of deliveries to a remote agent. Times are in milliseconds since the epoch. */
export interface RemoteState extends Pick<RemoteAgentRow, Shown> {
  url: string
  card?: RemoteCard
  unread: number
}

/** Returns the state of deliveries. Undefined for an agent that is not remote. */
export async function remoteState(account: AccountStore, agentId: string): Promise<RemoteState | undefined> {
  const [row, unread] = await Promise.all([
    account.read.remoteAgents.byId(agentId),
    account.read.inbox.allUnread(agentId),
  ])
  if (!row) return undefined
  const { remoteUrl: url, card, dueAt, attempts, failingSince, error, triedAt, pausedAt, answerMs, transport } = row
  const line = { dueAt, attempts, failingSince, error, triedAt, pausedAt, answerMs, transport }
  return { url, ...(card !== null && { card: JSON.parse(card) }), unread, ...line }
}
