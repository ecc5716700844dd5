/**
 * The turns of an account's conversations: limits, pauses, and notices to readers. See docs/conversations.md,
 * "Conversations that run away".
 */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { type AccountStore, defaultTurnLimits, type TurnLimits } from '../../store/account.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import type { CountedConversation, PlacedConversation } from '../../store/account/turns.ts'
import { activityRow } from '../activity.ts'
import { findProgram } from '../agents/find-agent.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { isChannel, keyOf, keyOfId } from '../send/in-turn.ts'

export function turnsNote(turns: number): string {
  return `This conversation has had ${turns} turns within an hour with no message from a person: stop unless there is new work.`
}

/** Returns the highest turn count of the messages' long conversations, if any. `long` has the turn counts by key. */
export function turnsOfRead(
  reader: string,
  messages: readonly { fromAlias: string; recipient: string; conversationId: string | null }[],
  long: Record<string, number>,
): number | undefined {
  const keys = messages.flatMap(({ fromAlias, recipient, conversationId }) => [
    isChannel(recipient) ? `${recipient} ${keyOf(fromAlias, `@${reader}`)}` : keyOf(fromAlias, `@${reader}`),
    ...(conversationId === null ? [] : [keyOfId(conversationId)]),
  ])
  return Math.max(0, ...keys.map((key) => long[key] ?? 0)) || undefined
}

export const maxTurnLimit = 1_000_000
const maxNotified = 500

export interface PausedConversation extends PlacedConversation {
  pausedAt: number
}

/** Returns the pause of a thread and the limit that it reached; undefined if it is not paused. */
export async function pauseOf(
  { read: { turns } }: AccountStore,
  thread: Awaitable<{ id: number; kind: string; agents: readonly { alias: string }[] }>,
): Promise<{ pause: PausedConversation; perHour: number } | undefined> {
  const [paused, { id, kind, agents }] = await Promise.all([turns.paused(), thread])
  // Two agents share their turns across all their threads; a pause names only the newest thread.
  const key = kind === 'pair' && agents.length === 2 ? keyOf(agents[0].alias, `@${agents[1].alias}`) : undefined
  const pause = paused.find((of) => of.threadId === id || of.key === key)
  return pause && { pause, perHour: (await turns.limits()).perHour }
}

/** Resumes the paused conversation with this key. Fails with `conversation_not_found`. */
export async function resumeConversation(account: AccountStore, key: string): Promise<CountedConversation> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const { change: { turns }, read } = account
    const found = await read.turns.pausedByKey(key)
    if (!found) throw new GridError('conversation_not_found', 'The account has no paused conversation with this id.')
    await account.write([...precondition, turns.requirePaused(key), turns.resume(key)])
    return found
  })
}

/** Changes the limits of the account's conversations. 0 switches a limit off; omitted limits stay as they are. */
export async function setTurnLimits(account: AccountStore, input: Partial<TurnLimits>): Promise<TurnLimits> {
  for (const [field, limit] of Object.entries(input)) {
    if (limit !== undefined && (!Number.isInteger(limit) || limit < 0 || limit > maxTurnLimit)) {
      const text = `A limit is a whole number from 0 (no limit) to ${maxTurnLimit.toLocaleString('en')}.`
      throw invalidInput(text, field)
    }
  }
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const before = await account.read.turns.limits()
    const limits = { ...before, ...Object.fromEntries(Object.entries(input).filter(([, n]) => n !== undefined)) }
    const changed = Object.entries(limits).filter(([name, n]) => n !== defaultTurnLimits[name as keyof TurnLimits])
    const stored = changed.length === 0 ? null : JSON.stringify(Object.fromEntries(changed))
    account.changed(before, limits)
    await account.write([...precondition, account.change.turns.setLimits(stored)])
    return limits
  })
}

/** Sets whether an agent is automated. Its messages then do not count as turns, and its paused conversations resume. */
export async function setAutomated(
  account: AccountStore,
  input: { agent: string; isAutomated: boolean },
): Promise<{ alias: string; isAutomated: boolean }> {
  requireAdmin(account.actor)
  const { id, alias } = await findProgram(account, input.agent)
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const { agents, turns } = account.change
    account.changed({ isAutomated: await account.read.turns.isAutomated(id) }, { isAutomated: input.isAutomated })
    await account.write([
      ...precondition,
      agents.requireLive([id]),
      ...turns.setAutomated(id, alias, input.isAutomated),
    ])
  })
  return { alias, isAutomated: input.isAutomated }
}

/** Records paused conversations. Resolves to those that owners must be notified about. */
export async function recordPauses(account: AccountStore): Promise<CountedConversation[]> {
  requireAdmin(account.actor)
  const { actor, change: { turns }, deps, read } = account
  const unnotified = await read.turns.unnotified(maxNotified)
  for (const { key, agents, turns: n } of unnotified) {
    const call = { tool: 'pause_conversation', arguments: { agents, turns: n }, requestId: null }
    await account.record(activityRow(actor, call, 'ok', deps.now()), [turns.markNotified(key, deps.now())])
  }
  return unnotified
}
