/** Conversations that were paused, and what accounts set about them. See docs/delivery.md, "Conversations that run away". */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { hour } from '../../lib/time.ts'
import { type AccountStore, defaultTurnLimits, type TurnLimits } from '../../store/account.ts'
import type { CountedConversation } from '../../store/account/turns.ts'
import { activityRow } from '../activity.ts'
import { findProgram } from '../agents/find-agent.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

/** The largest limit that an account can set. */
export const maxTurnLimit = 1_000_000
/** How many pauses one notice tells of. */
const maxTold = 500

/** A conversation that is paused. */
export interface PausedConversation extends CountedConversation {
  pausedAt: number
}

/** A conversation whose agents are told to stop, but that goes on. */
export type LongConversation = CountedConversation

/** The paused conversations of the account, the newest first, at most 50. */
export async function pausedConversations(account: AccountStore): Promise<PausedConversation[]> {
  return await account.read.turns.paused()
}

/** The conversations of the account whose agents are told to stop, the longest first, at most 10. */
export async function longConversations(account: AccountStore): Promise<LongConversation[]> {
  return await account.read.turns.long(account.deps.now() - hour, 10)
}

/**
 * Let a paused conversation begin again. `key` is its key.
 * Fails with `wrong_credential`, `not_allowed`, `conversation_not_found` or `write_conflict`.
 */
export async function resumeConversation(account: AccountStore, key: string): Promise<CountedConversation> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const { change: { turns }, read } = account
    const found = await read.turns.pausedByKey(key)
    if (!found) throw new GridError('conversation_not_found', 'No paused conversation of the account has this id.')
    await account.write([...precondition, turns.requirePaused(key), turns.resume(key)])
    return found
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
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const before = await account.read.turns.limits()
    const limits = { ...before, ...Object.fromEntries(Object.entries(input).filter(([, n]) => n !== undefined)) }
    const changed = Object.entries(limits).filter(([name, n]) => n !== defaultTurnLimits[name as keyof TurnLimits])
    const stored = changed.length === 0 ? null : JSON.stringify(Object.fromEntries(changed))
    await account.write([...precondition, account.change.turns.setLimits(stored)])
    return limits
  })
}

/**
 * Mark an agent of the account as automated, or not: what it sends and is sent is never a turn. Its
 * paused conversations begin again. `agent` is an id or alias.
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
    const { agents, turns } = account.change
    await account.write([
      ...precondition,
      agents.requireLive([id]),
      ...turns.setAutomated(id, alias, input.isAutomated),
    ])
  })
  return { alias, isAutomated: input.isAutomated }
}

/** Record in the activity log which conversations were paused. Resolves to those that the owners are now to be told of. */
export async function recordPauses(account: AccountStore): Promise<CountedConversation[]> {
  requireAdmin(account.actor)
  const { actor, change: { turns }, deps, read } = account
  const untold = await read.turns.untold(maxTold)
  for (const { key, agents, turns: n } of untold) {
    const call = { tool: 'pause_conversation', arguments: { agents, turns: n }, requestId: null }
    await account.record(activityRow(actor, call, 'ok', deps.now()), [turns.markTold(key, deps.now())])
  }
  return untold
}
