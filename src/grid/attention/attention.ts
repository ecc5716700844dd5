/** What needs a person, as one user sees it, without what they have snoozed. See docs/operations.md, "Attention". */
import { allows, callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { day, hour, nextDayAt, utc } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Snooze } from '../../store/account/attention.ts'
import type { ClaimOffer } from '../accounts/claim.ts'
import { authorize } from '../authorize.ts'
import { mayRead, readerOf } from '../conversations/may-read.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { type Condition, conditionOfOffer, findConditions, isWorse } from './conditions.ts'

/** For how long something can be snoozed. */
export const snoozeTimes = ['hour', 'tomorrow', 'week'] as const
export type SnoozeTime = (typeof snoozeTimes)[number]

/** When it is shown again on the next day, in the time zone of the user. */
const morningMs = 8 * hour

/** What needs a person, the most urgent first, and what they have snoozed, until when in milliseconds since the epoch. */
export interface Attention {
  open: Condition[]
  snoozed: { condition: Condition; until: number }[]
}

/**
 * What needs the calling user now. `offer` are agents that they can claim. Everybody in the account sees what is wrong in
 * it, except keys, which only owners and admins can change; who wrote an unread message is told to those who may read it.
 * Fails with `wrong_credential` or `not_allowed`.
 */
export async function attentionOf(account: AccountStore, offer: ClaimOffer | undefined): Promise<Attention> {
  const [conditions, reader] = await Promise.all([findConditions(account), readerOf(account)])
  const shown = conditions.map((condition): Condition => {
    if (condition.kind !== 'unread' || mayRead(reader, { kind: 'others' }, condition.of.since)) return condition
    const { sender: _, ...of } = condition.of
    return { ...condition, of }
  })
  return await withoutSnoozed(account, shown, offer)
}

/** The part of these conditions of the account that the calling user sees, and what they have snoozed. */
export async function withoutSnoozed(
  account: AccountStore,
  conditions: readonly Condition[],
  offer: ClaimOffer | undefined,
): Promise<Attention> {
  const { userId, role } = callingUser(account.actor)
  const seen = conditions.filter(({ kind }) => kind !== 'key' || allows(role, 'manage'))
  const all = offer ? [...seen, conditionOfOffer(offer)] : seen
  const snoozes = new Map<string, Snooze>()
  for (const snooze of await account.read.snoozes.ofUser(userId, account.deps.now())) snoozes.set(keyOf(snooze), snooze)
  const found: Attention = { open: [], snoozed: [] }
  for (const condition of all) {
    const snooze = snoozes.get(keyOf(condition))
    if (!snooze || isWorse(condition, snooze.level)) found.open.push(condition)
    else found.snoozed.push({ condition, until: snooze.until })
  }
  return found
}

function keyOf({ kind, subject }: Pick<Condition | Snooze, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`
}

/**
 * Hide something from the calling user for a while, unless it gets worse. Nobody else is affected. `timeZone` says when
 * tomorrow is, as `knownZone` of `lib/time-zone.ts` resolves it; by default in UTC. Resolves to whether it
 * still needed attention; otherwise nothing is stored.
 * Fails with `wrong_credential`, `not_allowed`, `invalid_input` or `write_conflict`.
 */
export async function snooze(
  account: AccountStore,
  offer: ClaimOffer | undefined,
  { timeZone = utc, ...input }: { kind: string; subject: string; time: string; timeZone?: string },
): Promise<boolean> {
  const { userId } = callingUser(account.actor)
  const time = snoozeTimes.find((time) => time === input.time)
  if (!time) throw new GridError('invalid_input', 'Choose for how long.', { field: 'time' })
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'view')
    const { open, snoozed } = await attentionOf(account, offer)
    const all = [...open, ...snoozed.map(({ condition }) => condition)]
    const found = all.find(({ kind, subject }) => kind === input.kind && subject === input.subject)
    if (!found) return false
    const { kind, subject, level } = found
    const until = endOf(time, account.deps.now(), timeZone)
    await account.write([...precondition, account.change.snoozes.put(userId, { kind, subject, level, until })])
    return true
  })
}

/** Show again what the calling user has snoozed. Fails with `wrong_credential`, `not_allowed` or `write_conflict`. */
export async function endSnooze(
  account: AccountStore,
  { kind, subject }: { kind: string; subject: string },
): Promise<void> {
  const { userId } = callingUser(account.actor)
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'view')
    await account.write([...precondition, account.change.snoozes.remove(userId, kind, subject)])
  })
}

function endOf(time: SnoozeTime, at: number, timeZone: string): number {
  switch (time) {
    case 'hour':
      return at + hour
    case 'tomorrow':
      return nextDayAt(timeZone, at, morningMs)
    case 'week':
      return at + 7 * day
  }
}
