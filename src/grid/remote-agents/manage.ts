/** What people see of a remote agent, and can do about it. See docs/protocol/remote-agents.md, "How messages are sent". */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { NoCard, readCard, type RemoteAddress, type RemoteCard } from '../../remote/card.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import type { RemoteAgentRow } from '../../store/account/remote-agents.ts'
import { findProgram } from '../agents/find-agent.ts'
import { addressOf } from './find-remote.ts'

/** What was found at a URL: the card, or why there is none. */
export type FoundCard = { card: RemoteCard } | { problem: string }

/** Read the card at a URL. A card that cannot be read is no error: the agent may be out of reach at the moment. */
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

/** Read the card of an agent (id or alias), and keep it. Fails with `agent_not_found`. */
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

/** Send what waits for an agent (id or alias) now, and not when the next attempt is due. */
export async function tryNow(account: AccountStore, ref: string): Promise<void> {
  requireAdmin(account.actor)
  const { id } = await findProgram(account, ref)
  await account.write([account.change.remoteAgents.tryNow(id, account.deps.now())])
}

/** Keep back the messages of an agent (id or alias), or send what has waited. What it has accepted is still followed. */
export async function setPaused(account: AccountStore, ref: string, isPaused: boolean): Promise<void> {
  requireAdmin(account.actor)
  const { id } = await findProgram(account, ref)
  const { change: { remoteAgents }, deps } = account
  await account.write(isPaused ? [remoteAgents.pause(id, deps.now())] : remoteAgents.resume(id, deps.now()))
}

type Shown = 'dueAt' | 'attempts' | 'failingSince' | 'error' | 'triedAt' | 'pausedAt' | 'answerMs' | 'transport'

/** What waits, since when messages fail, and when the next attempt is due. Times are milliseconds. */
export interface RemoteState extends Pick<RemoteAgentRow, Shown> {
  url: string
  card?: RemoteCard
  unread: number
}

/** Undefined for an agent that is not remote. */
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
