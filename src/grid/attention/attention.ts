/** Problems that need a person, as one user sees them, without snoozed entries. See docs/web.md, "Attention". */
import { limitsOf } from '../limits.ts'
import { allows, callingUser } from '../../auth/actor.ts'
import { invalidInput } from '../../errors.ts'
import type { Presence } from '../../presence.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import { day, hour, nextDayAt, startOfDay, utc } from '../../lib/time.ts'
import type { AccountStore, FeatureCondition } from '../../store/account.ts'
import { maxCounted, maxOfKind, type Snooze } from '../../store/account/attention.ts'
import type { SeenTask } from '../../store/account/seen-tasks.ts'
import type { AwaitedPerson } from '../../store/account/questions.ts'
import type { PlacedConversation } from '../../store/account/turns.ts'
import type { ClaimOffer } from '../accounts/claim.ts'
import { authorize } from '../authorize.ts'
import { isReadBySwitch, mayRead, type Place, placeOf, type Reader, readerOf } from '../conversations/may-read.ts'
import { fullInboxes, megabyte, nearlyUsed } from '../message/quota.ts'
import type { PausedConversation } from '../messaging/turns.ts'
import { taskFilters } from '../conversations/seen-tasks.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

export const snoozeTimes = ['hour', 'tomorrow', 'week'] as const
type SnoozeTime = (typeof snoozeTimes)[number]

/** The time of day, in the user's time zone, when an entry snoozed until tomorrow reappears. */
const morningMs = 8 * hour

/** Most urgent first; `until` is in milliseconds since the epoch. */
export interface Attention {
  open: Condition[]
  snoozed: { condition: Condition; until: number }[]
}

/**
 * Returns the entries that need the calling user's attention. Only owners and admins see keys and problems between
 * others. Only readers see who wrote an unread message. A task's failure reason is message text, so it is omitted
 * without `isReading`. If `readsOthers` is set, the caller must record the reading.
 */
export async function attentionOf(
  account: AccountStore,
  offer: Awaitable<ClaimOffer | undefined>,
  conditions: Awaitable<Condition[]> = findConditions(account),
  { isReading = false } = {},
): Promise<Attention & { readsOthers: boolean }> {
  const reader = readerOf(account)
  const found = forReader(reader, conditions, isReading)
  const attention = await withoutSnoozed(account, found, offer, reader)
  return { ...attention, readsOthers: readsOthers(await reader, attention.open) }
}

async function forReader(
  found: Promise<Reader>,
  conditions: Awaitable<Condition[]>,
  isReading: boolean,
): Promise<Condition[]> {
  const [reader, all] = await Promise.all([found, conditions])
  return all.map((condition): Condition => {
    switch (condition.kind) {
      case 'unread': {
        if (mayRead(reader, { kind: 'others' }, condition.of.since)) return condition
        const { sender: _, ...of } = condition.of
        return { ...condition, of }
      }
      case 'task': {
        const isReadable = mayRead(reader, placeOfTask(reader, condition.of), condition.of.createdAt)
        const of = isReadable && isReading ? condition.of : { ...condition.of, text: '', why: null }
        return { ...condition, of, isHidden: !isReadable }
      }
      default:
        return condition
    }
  })
}

/** Removes problems between others, which members and viewers may not open, and corrects the totals. */
function ofReader(reader: Reader, conditions: readonly Condition[]): readonly Condition[] {
  const open = conditions.filter((condition) => {
    switch (condition.kind) {
      case 'task':
        return mayRead(reader, placeOfTask(reader, condition.of), condition.of.createdAt)
      case 'paused':
      case 'turns':
        return reader.personAlias !== undefined && condition.of.agents.includes(reader.personAlias.alias)
      default:
        return true
    }
  })
  const isOfAll = (kind: Condition['kind']) => !['task', 'paused', 'turns'].includes(kind)
  return open.map((condition) =>
    isOfAll(condition.kind)
      ? condition
      : { ...condition, total: open.filter(({ kind }) => kind === condition.kind).length }
  )
}

function readsOthers(reader: Reader, conditions: Condition[]): boolean {
  return conditions.some(({ kind, of }) =>
    kind === 'task' && of.why !== null && isReadBySwitch(reader, placeOfTask(reader, of), of.createdAt)
  )
}

function placeOfTask(reader: Reader, { clientAgentId, recipientAgentId }: SeenTask): Place {
  return placeOf(reader, { channelId: null, agents: [clientAgentId, recipientAgentId] })
}

/** Returns the number of all entries, including those that `maxOfKind` leaves out. */
export function countConditions(conditions: readonly Condition[]): number {
  const kinds = new Map(conditions.map(({ kind, total }) => [kind, total]))
  return [...kinds.values()].reduce((sum, total) => sum + Math.max(0, total - maxOfKind), conditions.length)
}

/** Splits entries into open and snoozed ones. The snoozes are read while the entries are looked up. */
export async function withoutSnoozed(
  account: AccountStore,
  found: Awaitable<readonly Condition[]>,
  offered: Awaitable<ClaimOffer | undefined>,
  known?: Promise<Reader>,
): Promise<Attention> {
  const { userId, role } = callingUser(account.actor)
  const asked = account.read.snoozes.ofUser(userId, account.deps.now())
  const asReader = allows(role, 'manage') ? undefined : known ?? readerOf(account)
  const [conditions, offer, kept, reader] = await Promise.all([found, offered, asked, asReader])
  const seen = (reader ? ofReader(reader, conditions) : conditions).filter((condition) => {
    if (['key', 'webhook', 'follower', 'domain', 'access'].includes(condition.kind)) return allows(role, 'manage')
    // Questions to the calling user are listed by conversation instead, see `questionsOf`.
    return condition.kind !== 'person' || condition.of.userId !== userId
  })
  const all = offer ? [...seen, conditionOfOffer(offer)] : seen
  const snoozes = new Map<string, Snooze>()
  for (const snooze of kept) snoozes.set(keyOf(snooze), snooze)
  const attention: Attention = { open: [], snoozed: [] }
  for (const condition of all) {
    const snooze = snoozes.get(keyOf(condition))
    if (!snooze || isWorse(condition, snooze.level)) attention.open.push(condition)
    else attention.snoozed.push({ condition, until: snooze.until })
  }
  return attention
}

function keyOf({ kind, subject }: Pick<Condition | Snooze, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`
}

/** Hides an entry from the calling user until it gets worse. Resolves to whether it still needed attention. */
export async function snooze(
  account: AccountStore,
  offer: ClaimOffer | undefined,
  { timeZone = utc, ...input }: { kind: string; subject: string; time: string; timeZone?: string },
): Promise<boolean> {
  const { userId } = callingUser(account.actor)
  const time = snoozeTimes.find((time) => time === input.time)
  if (!time) throw invalidInput('Choose a duration.', 'time')
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

/** Shows a snoozed entry to the calling user again. */
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

export { maxCounted, maxOfKind }

/** How old an agent's oldest unread message, or a question to a person, must be to need attention. */
const unreadForLongMs = hour
/**
 * A server that failed this many times in a row needs a person. Pages show the problem immediately; webhooks are
 * notified after an hour.
 */
export const manyFailures = 3
const notifiedAfterMs = hour
/** How long parked messages, refused calls and failures of guardrails are shown. */
const parkedForMs = 7 * day
const failedForMs = day
/** How long failed, waiting and quiet tasks are shown. */
const tasksForMs = 7 * day
const needyStates = [...taskFilters.failed, ...taskFilters.input, ...taskFilters.auth]
/** The minimum number of refused calls of one caller. One or two may be mistakes. */
const manyRefused = 3
/** The minimum number of messages blocked by one guardrail. */
const manyBlocked = 10
const maxLong = 10
/** Key age limits: since the last use, since creation for unused keys, and since creation for all. */
const keyUnusedMs = 90 * day
const keyNeverUsedMs = 30 * day
export const keyOldMs = 365 * day

type Row<
  Name extends
    | 'waiting'
    | 'full'
    | 'returned'
    | 'remote'
    | 'parked'
    | 'refused'
    | 'failing'
    | 'blocking'
    | 'keys'
    | 'access',
> = Awaited<
  ReturnType<AccountStore['read']['attention'][Name]>
>[number]

interface UsedQuota {
  quota: 'messages' | 'megabytes'
  used: number
  max: number
}

interface Common {
  /** The subject of the entry, unique within its kind. */
  subject: string
  since: number | null
  level: number
  /** The number of all entries of this kind. At most `maxOfKind` are listed. */
  total: number
  /** Set if the calling user may not open the entry's task. */
  isHidden?: boolean
}

export type Condition =
  & Common
  & (
    | { kind: 'paused'; of: PausedConversation }
    | { kind: 'guardrail'; of: Row<'failing'> }
    | { kind: 'blocked'; of: Row<'blocking'> }
    | { kind: 'task'; of: SeenTask }
    | { kind: 'released'; of: Row<'returned'> }
    | { kind: 'remote'; of: Row<'remote'> }
    | Pick<FeatureCondition, 'kind' | 'of'>
    | { kind: 'follower'; of: ReturnType<AccountStore['standing']>[number] & { leftOut: number } }
    | { kind: 'parked'; of: Row<'parked'> }
    | { kind: 'unread'; of: Omit<Row<'waiting'>, 'sender'> & { sender?: string | null; presence?: Presence } }
    | { kind: 'inbox'; of: Row<'full'> }
    | { kind: 'person'; of: AwaitedPerson }
    | { kind: 'refused'; of: Row<'refused'> }
    | { kind: 'turns'; of: PlacedConversation }
    | { kind: 'quota'; of: UsedQuota }
    | { kind: 'claim'; of: ClaimOffer }
    | { kind: 'access'; of: Row<'access'> }
    | { kind: 'key'; of: Row<'keys'> }
  )

export type ConditionKind = Condition['kind']
type Of<Kind extends ConditionKind> = Extract<Condition, { kind: Kind }>['of']

/** Whether webhooks are notified of the entry. For a failing server, they are notified only after an hour. */
export function isNotified({ kind, of, since }: Condition, now: number): boolean {
  const isFailing = (kind === 'remote' || kind === 'webhook') && !('pausedAt' in of && of.pausedAt)
  return !isFailing || now - (since ?? now) >= notifiedAfterMs
}

/** Whether an entry got so much worse that people are notified again: its level doubled, or it was paused once more. */
export function isWorse({ kind, level }: Condition, before: number): boolean {
  return kind === 'paused' ? level > before : level >= 2 * before
}

/** Returns all current problems of an account, most urgent kinds first, at most `maxOfKind` of each. */
export async function findConditions(account: AccountStore): Promise<Condition[]> {
  const { attention, questions, turns } = account.read
  const at = account.deps.now()
  const keyTimes = { at, unusedSince: at - keyUnusedMs, neverUsedSince: at - keyNeverUsedMs, oldSince: at - keyOldMs }
  const failedSince = Math.floor((at - failedForMs) / hour) * hour
  const [
    paused,
    failing,
    blocking,
    tasks,
    returned,
    remote,
    ofFeatures,
    leftOut,
    parked,
    inboxes,
    waiting,
    people,
    refused,
    long,
    quotas,
    access,
    keys,
  ] = await Promise.all([
    turns.paused(),
    attention.failing(failedSince),
    attention.blocking(failedSince, manyBlocked),
    account.read.seenTasks.needy(needyStates, at - tasksForMs, maxOfKind),
    attention.returned(),
    attention.remote(manyFailures),
    Promise.all(account.hooks.map(({ conditions }) => conditions?.(account) ?? [])),
    attention.leftOut(),
    attention.parked(at - parkedForMs),
    fullInboxes(account),
    attention.waiting(at - unreadForLongMs),
    questions.people(at - unreadForLongMs, at),
    attention.refused(at - failedForMs, manyRefused),
    turns.long(at - hour, maxLong),
    nearlyUsedQuotas(account),
    attention.access(),
    attention.keys(keyTimes),
  ])
  const ofFeature = (kind: FeatureCondition['kind']) => {
    const found = ofFeatures.flat().filter((one) => one.kind === kind)
    return found.map((one) => ({ ...one, total: found.length }))
  }
  return [
    ...all('paused', paused, ({ key, pausedAt }) => ({ subject: key, since: pausedAt, level: pausedAt })),
    ...all(
      'guardrail',
      failing,
      (of) => ({ subject: of.guardrailId, since: of.since, level: of.unchecked + of.refused }),
    ),
    ...all('task', tasks, (of) => ({
      subject: of.id,
      since: of.quietSince ?? of.statusAt,
      level: of.quietSince === null ? 2 : 1,
    })),
    ...all('released', returned, (of) => ({ subject: of.agentId, since: of.since, level: of.messages })),
    ...all('remote', remote, ({ agentId, pausedAt, failingSince }) => {
      return { subject: agentId, since: pausedAt ?? failingSince, level: 1 }
    }),
    ...ofFeature('webhook'),
    ...all('follower', account.standing().map((standing) => ({ ...standing, leftOut: 0 })), (of) => {
      return { subject: of.follower, since: of.since, level: 1 }
    }),
    ...all('follower', leftOut.map(({ rows, ...of }) => ({ ...of, leftOut: rows })), (of) => {
      return { subject: `${of.follower}, left out`, since: of.since, level: of.leftOut }
    }),
    ...all('parked', parked, (of) => ({ subject: of.agentId, since: of.since, level: of.messages })),
    // A full inbox has twice the level of a nearly full one.
    ...all('inbox', inboxes, (of) => {
      return { subject: of.agentId, since: null, level: Math.max(of.unread >= of.max ? 2 : 1, of.refused) }
    }),
    ...all('unread', withPresence(account, waiting), (of) => {
      return { subject: of.agentId, since: of.since, level: of.unread }
    }),
    ...all('blocked', blocking, (of) => ({ subject: of.guardrailId, since: of.since, level: of.messages })),
    ...all('person', people, (of) => ({ subject: of.agentId, since: of.since, level: of.messages })),
    ...all('refused', refused, ({ credentialId, userId, actorType, since, calls }) => {
      return { subject: credentialId ?? userId ?? actorType, since, level: calls }
    }),
    ...all('turns', long, (of) => ({ subject: of.key, since: of.since, level: of.turns })),
    // A used quota has twice the level of a nearly used one.
    ...all('quota', quotas, ({ quota, used, max }) => ({ subject: quota, since: null, level: used >= max ? 2 : 1 })),
    ...ofFeature('domain'),
    // Has no start time, because other accounts may not learn when the alias was taken.
    ...all('access', access, ({ alias, partner }) => ({ subject: `@${alias} @${partner}`, since: null, level: 1 })),
    ...all('key', keys, (of) => ({ subject: of.id, since: of.lastUsedAt ?? of.createdAt, level: 1 })),
  ]
}

function all<Kind extends ConditionKind>(
  kind: Kind,
  found: readonly Of<Kind>[],
  commonOf: (of: Of<Kind>) => Omit<Common, 'total'>,
): Condition[] {
  return found.map((of) => {
    return { kind, of, total: 'total' in of ? of.total : found.length, ...commonOf(of) } as Condition
  })
}

function withPresence({ waiting: { presence } }: AccountStore, found: Row<'waiting'>[]): Of<'unread'>[] {
  return found.map((of) => ({ ...of, presence: presence.at(of.agentId) }))
}

function conditionOfOffer(offer: ClaimOffer): Condition {
  return { kind: 'claim', subject: offer.provisionalId, since: null, level: offer.agents, total: 1, of: offer }
}

async function nearlyUsedQuotas(account: AccountStore): Promise<UsedQuota[]> {
  const [{ messagesPerDay, megabytesPerDay }, { account: { messages, bytes } }] = await Promise.all([
    limitsOf(account),
    account.read.usage.of(startOfDay(account.deps.now()), null),
  ])
  const quotas: UsedQuota[] = [
    { quota: 'messages', used: messages, max: messagesPerDay },
    { quota: 'megabytes', used: Math.ceil(bytes / megabyte), max: megabytesPerDay },
  ]
  // A quota of 0 means unlimited.
  return quotas.filter(({ used, max }) => max > 0 && used >= nearlyUsed * max)
}
