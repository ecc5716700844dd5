/** Conversations that were paused, and what accounts set about them. See docs/delivery.md, "Conversations that run away". */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { type AccountStore, defaultTurnLimits, type TurnLimits, turnsKeptMs } from '../../store/account.ts'
import type { PauseReason } from '../../store/account/conversations.ts'
import { activityRow } from '../activity.ts'
import { findProgram } from '../agents/find-agent.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

/** The largest limit that an account can set. */
export const maxTurnLimit = 1_000_000

/** A conversation that is paused. Agents are aliases without `@`; times are milliseconds since the epoch. */
export interface PausedConversation {
  id: string
  agents: string[]
  reason: PauseReason
  /** The turns of the hour before, and the answers that led to the message that was refused. */
  turns: number
  hops: number
  pausedAt: number
}

/** A conversation whose agents are told to stop, but that goes on. */
export interface LongConversation {
  /** What it is counted under: it stays the same while the conversation goes on. */
  key: string
  agents: string[]
  /** Without input from outside. */
  turns: number
  /** When that input was, in milliseconds since the epoch. */
  resetAt: number
}

/** The paused conversations of the account, the newest first, at most 50. */
export async function pausedConversations(account: AccountStore): Promise<PausedConversation[]> {
  return (await account.read.conversations.paused()).map(({ key: _, ...row }) => ({
    ...row,
    agents: JSON.parse(row.agents),
  }))
}

/** The conversations of the account that have many turns without input from outside, the longest first, at most 10. */
export async function longConversations(account: AccountStore): Promise<LongConversation[]> {
  const { warn } = account.turns.limits
  if (warn === 0) return []
  const { conversations } = account.read
  const isPaused = new Set((await conversations.paused()).map(({ key }) => key))
  // Each process counts, and only what it counted since the last input from outside.
  const byKey = new Map<string, LongConversation>()
  for (const { key, agents, turns, resetAt } of await conversations.turns(account.deps.now() - turnsKeptMs)) {
    if (isPaused.has(key)) continue
    const known = byKey.get(key)
    if (known && known.resetAt > resetAt) continue
    const before = known?.resetAt === resetAt ? known : { agents: [], turns: 0 }
    const all = [...new Set([...before.agents, ...JSON.parse(agents)])].sort()
    byKey.set(key, { key, agents: all, turns: before.turns + turns, resetAt })
  }
  return [...byKey.values()].filter(({ turns }) => turns >= warn).sort((a, b) => b.turns - a.turns).slice(0, 10)
}

/**
 * Let a paused conversation go on: its turns and hops are counted from now.
 * Fails with `wrong_credential`, `not_allowed`, `conversation_not_found` or `write_conflict`.
 */
export async function resumeConversation(account: AccountStore, id: string): Promise<PausedConversation> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const { change: { conversations }, read, turns } = account
    const found = await read.conversations.pausedById(id)
    if (!found) throw new GridError('conversation_not_found', 'No paused conversation of the account has this id.')
    const { key, ...row } = found
    await account.write([
      ...precondition,
      conversations.requirePaused(id),
      conversations.resume(id, account.deps.now()),
      conversations.removeTurns(key),
    ])
    const agents: string[] = JSON.parse(row.agents)
    turns.resumed(key, agents, row.hops)
    return { ...row, agents }
  })
}

/**
 * Change the limits of the account's conversations. 0 switches one off; omitted ones stay as they are.
 * Fails with `wrong_credential`, `not_allowed`, `invalid_input` or `write_conflict`.
 */
export async function setTurnLimits(account: AccountStore, input: Partial<TurnLimits>): Promise<TurnLimits> {
  for (const [field, limit] of Object.entries(input)) {
    if (limit !== undefined && (!Number.isInteger(limit) || limit < 0 || limit > maxTurnLimit)) {
      const text = `A limit is a whole number from 0 (no limit) to ${maxTurnLimit.toLocaleString('en')}.`
      throw new GridError('invalid_input', text, { field })
    }
  }
  const limits = await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const before = { ...defaultTurnLimits, ...await account.read.conversations.limits() }
    const limits = { ...before, ...Object.fromEntries(Object.entries(input).filter(([, n]) => n !== undefined)) }
    const changed = Object.entries(limits).filter(([name, n]) => n !== defaultTurnLimits[name as keyof TurnLimits])
    const stored = changed.length === 0 ? null : JSON.stringify(Object.fromEntries(changed))
    await account.write([...precondition, account.change.conversations.setLimits(stored)])
    return limits
  })
  await account.turns.settingsChanged()
  return limits
}

/**
 * Mark an agent of the account as automated, or not: what it sends and reads is never a turn. `agent` is an id or alias.
 * Fails with `wrong_credential`, `not_allowed`, `agent_not_found` or `write_conflict`.
 */
export async function setAutomated(
  account: AccountStore,
  input: { agent: string; isAutomated: boolean },
): Promise<{ alias: string; isAutomated: boolean }> {
  requireAdmin(account.actor)
  const { id, alias } = await findProgram(account, input.agent)
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const { agents, conversations } = account.change
    await account.write([...precondition, agents.requireLive([id]), conversations.setAutomated(id, input.isAutomated)])
  })
  await account.turns.settingsChanged()
  return { alias, isAutomated: input.isAutomated }
}

/**
 * Record in the activity log that a conversation was paused. Resolves to its agents, for the notice to the owners;
 * undefined if it was resumed meanwhile. Fails with `write_conflict` if another process was faster.
 */
export async function recordPause(account: AccountStore, id: string): Promise<string[] | undefined> {
  requireAdmin(account.actor)
  const { actor, change: { conversations }, deps, read } = account
  const paused = await read.conversations.pausedById(id)
  const told = [conversations.requireUntold(id), conversations.markTold(id, deps.now())]
  if (!paused) {
    await account.write(told)
    return undefined
  }
  const { turns, hops, reason } = paused
  const agents: string[] = JSON.parse(paused.agents)
  const call = { tool: 'pause_conversation', arguments: { agents, reason, turns, hops }, requestId: null }
  await account.record(activityRow(actor, call, 'ok', deps.now()), told)
  return agents
}
