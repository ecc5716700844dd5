/** What is wrong in an account so that a person should look at it. See docs/operations.md, "Attention". */
import type { Presence } from '../../lib/presence.ts'
import { day, hour, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxCounted, maxOfKind } from '../../store/account/attention.ts'
import type { ClaimOffer } from '../accounts/claim.ts'
import {
  type LongConversation,
  longConversations,
  type PausedConversation,
  pausedConversations,
} from '../messaging/pauses.ts'
import { megabyte } from '../messaging/quota.ts'

export { maxCounted, maxOfKind }

/** An agent is waited for when its oldest unread message is older than this. */
const unreadForLongMs = hour
/** For how long parked messages, refused calls and failures of guardrails are told. */
const parkedForMs = 7 * day
const failedForMs = day
/** From how many refused calls of one caller on. One may be a slip. */
const manyRefused = 3
/** A key that was not used for this time, or made and not used for the second one, or made so long ago. */
export const keyUnusedMs = 90 * day
const keyNeverUsedMs = 30 * day
export const keyOldMs = 365 * day
/** The part of a quota from which on it is nearly used. */
const nearlyUsed = 0.8

type Row<Name extends 'waiting' | 'returned' | 'parked' | 'refused' | 'failing' | 'keys'> = Awaited<
  ReturnType<AccountStore['read']['attention'][Name]>
>[number]

/** A quota of a day: how much of it is used. */
export interface UsedQuota {
  quota: 'messages' | 'megabytes'
  used: number
  max: number
}

interface Common {
  /** What it is about, unique among those of its kind. */
  subject: string
  /** Since when, in milliseconds since the epoch; null if that is not known. */
  since: number | null
  /** How bad it is. See `isWorse`. */
  level: number
}

/** Something that needs a person, and the data of its kind. */
export type Condition =
  & Common
  & (
    | { kind: 'paused'; of: PausedConversation }
    | { kind: 'guardrail'; of: Row<'failing'> }
    | { kind: 'released'; of: Row<'returned'> }
    | { kind: 'parked'; of: Row<'parked'> }
    | { kind: 'unread'; of: Omit<Row<'waiting'>, 'sender'> & { sender?: string | null; presence?: Presence } }
    | { kind: 'refused'; of: Row<'refused'> }
    | { kind: 'turns'; of: LongConversation }
    | { kind: 'quota'; of: UsedQuota }
    | { kind: 'claim'; of: ClaimOffer }
    | { kind: 'key'; of: Row<'keys'> }
  )

export type ConditionKind = Condition['kind']

/** Whether something is so much worse than it was that a snooze ends: twice as much, or paused once more. */
export function isWorse({ kind, level }: Condition, before: number): boolean {
  return kind === 'paused' ? level > before : level >= 2 * before
}

/** Everything that is wrong in an account now, the most urgent kinds first, and at most `maxOfKind` of each. */
export async function findConditions(account: AccountStore): Promise<Condition[]> {
  const { attention } = account.read
  const at = account.deps.now()
  const keyTimes = { at, unusedSince: at - keyUnusedMs, neverUsedSince: at - keyNeverUsedMs, oldSince: at - keyOldMs }
  const failedSince = Math.floor((at - failedForMs) / hour) * hour
  const [paused, failing, returned, parked, waiting, refused, long, quotas, keys] = await Promise.all([
    pausedConversations(account),
    attention.failing(failedSince),
    attention.returned(),
    attention.parked(at - parkedForMs),
    attention.waiting(at - unreadForLongMs),
    attention.refused(at - failedForMs, manyRefused),
    longConversations(account),
    nearlyUsedQuotas(account),
    attention.keys(keyTimes),
  ])
  return [
    ...paused.map((of): Condition => ({
      ...{ kind: 'paused', subject: of.key, since: of.pausedAt, level: of.pausedAt },
      of,
    })),
    ...failing.map((of): Condition => ({
      ...{ kind: 'guardrail', subject: of.guardrailId, since: of.since, level: of.messages },
      of,
    })),
    ...returned.map((of): Condition => ({
      ...{ kind: 'released', subject: of.agentId, since: of.since, level: of.messages },
      of,
    })),
    ...parked.map((of): Condition => ({
      ...{ kind: 'parked', subject: of.agentId, since: of.since, level: of.messages },
      of,
    })),
    ...waiting.map((of): Condition => ({
      ...{ kind: 'unread', subject: of.agentId, since: of.since, level: of.unread },
      of: { ...of, presence: account.waiting.presence.at(of.agentId) },
    })),
    ...refused.map((of): Condition => ({
      ...{ kind: 'refused', subject: of.credentialId ?? of.userId ?? of.actorType, since: of.since, level: of.calls },
      of,
    })),
    ...long.map((of): Condition => ({
      ...{ kind: 'turns', subject: of.key, since: of.since, level: of.turns },
      of,
    })),
    ...quotas.map((of): Condition => ({
      // Used up is twice as bad as nearly used.
      ...{ kind: 'quota', subject: of.quota, since: null, level: of.used >= of.max ? 2 : 1 },
      of,
    })),
    ...keys.map((of): Condition => ({
      kind: 'key',
      subject: of.id,
      since: of.lastUsedAt ?? of.createdAt,
      level: 1,
      of,
    })),
  ]
}

/** Agents that a user can claim. */
export function conditionOfOffer(offer: ClaimOffer): Condition {
  return { kind: 'claim', subject: offer.provisionalId, since: null, level: offer.agents, of: offer }
}

async function nearlyUsedQuotas({ read, deps: { config, now } }: AccountStore): Promise<UsedQuota[]> {
  const { account: { messages, bytes } } = await read.usage.of(startOfDay(now()), null)
  const quotas: UsedQuota[] = [
    { quota: 'messages', used: messages, max: config.messagesPerDay },
    { quota: 'megabytes', used: Math.ceil(bytes / megabyte), max: config.megabytesPerDay },
  ]
  // 0 stands for no quota.
  return quotas.filter(({ used, max }) => max > 0 && used >= nearlyUsed * max)
}
