/**
 * Which messages a member of the account may read. This file alone decides it, for every page, stream and count.
 *
 * | messages | owner, admin | member | viewer |
 * | --- | --- | --- | --- |
 * | to or from one's own alias | all | all | has no alias |
 * | of a channel that one's alias is in | since it joined, and as below | since it joined | counts only |
 * | of another channel | since the switch | counts only | counts only |
 * | between agents | since the switch | counts only | counts only |
 *
 * The switch is `people_read_since` of the account. See docs/people.md, "People who read".
 */
import { allows, callingUser, type Role } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { ReadableTimes } from '../../store/account/search.ts'
import { activityRow } from '../activity.ts'
import type { Receipts, ThreadMessage } from './messages.ts'
import type { Thread } from './threads.ts'

/** A member of the account, with the facts that decide what they may read. */
export interface Reader {
  userId: string
  role: Role
  memberSince: number
  /** The id and alias (without `@`) of the member's person alias. Undefined if they have none, like every viewer. */
  personAlias?: { agentId: string; alias: string }
  channels: ReadonlyMap<string, number>
  /** The time from which owners and admins can read messages between agents; null if they cannot. */
  peopleReadSince: number | null
}

/** The place of a message: to or from the reader, in a channel, or between others. */
export type Place = { kind: 'mine' } | { kind: 'channel'; channelId: string } | { kind: 'others' }

/** Returns the calling user as a reader, by the current role and switch. */
export async function readerOf(account: AccountStore): Promise<Reader> {
  const reader = await readerFor(account, callingUser(account.actor).userId)
  if (!reader) throw new GridError('not_allowed', 'You are no longer a member of this account.')
  return reader
}

/** Returns a user as a reader; undefined if they are not a member. */
export async function readerFor(account: AccountStore, userId: string): Promise<Reader | undefined> {
  const row = await account.read.personAliases.reader(userId)
  if (!row) return undefined
  const { role, memberSince, peopleReadSince, agentId, alias, channels } = row
  const mayHavePersonAlias = agentId !== null && alias !== null && allows(role, 'use')
  return {
    userId,
    role,
    memberSince,
    ...(mayHavePersonAlias && { personAlias: { agentId, alias } }),
    channels: new Map(mayHavePersonAlias ? JSON.parse(channels) : []),
    peopleReadSince,
  }
}

/** Returns the place of a message or thread. `agents` are the ids of the sender and the recipient, if known. */
export function placeOf(reader: Reader, of: { channelId: string | null; agents: readonly (string | null)[] }): Place {
  if (reader.personAlias && of.agents.includes(reader.personAlias.agentId)) return { kind: 'mine' }
  return of.channelId === null ? { kind: 'others' } : { kind: 'channel', channelId: of.channelId }
}

/** Returns the start of the readable period in a place; undefined if the reader sees only counts. */
export function readableFrom(reader: Reader, place: Place): number | undefined {
  if (place.kind === 'mine') return reader.personAlias && 0
  const bySwitch = allows(reader.role, 'manage') ? reader.peopleReadSince ?? undefined : undefined
  const joined = place.kind === 'channel' ? reader.channels.get(place.channelId) : undefined
  if (joined === undefined || bySwitch === undefined) return joined ?? bySwitch
  return Math.min(joined, bySwitch)
}

/** Returns the times of `readableFrom` for every place, for statements that filter by them. */
export function readableTimes(reader: Reader): ReadableTimes {
  const from = (place: Place) => readableFrom(reader, place) ?? null
  return {
    personAlias: reader.personAlias?.agentId ?? null,
    channels: Object.fromEntries(
      [...reader.channels.keys()].map((id) => [id, from({ kind: 'channel', channelId: id })!]),
    ),
    others: from({ kind: 'others' }),
  }
}

export function mayRead(reader: Reader, place: Place, at: number): boolean {
  const from = readableFrom(reader, place)
  return from !== undefined && at >= from
}

/** Whether the reader can see the message only because the account permits owners and admins to read. */
export function isReadBySwitch(reader: Reader, place: Place, at: number): boolean {
  if (place.kind !== 'channel') return place.kind === 'others'
  const joined = reader.channels.get(place.channelId)
  return joined === undefined || at < joined
}

/** Returns the place of a thread's messages. In a conversation with an id, some of them may be the reader's own. */
export function placeOfThread(
  reader: Reader,
  { kind, channel, agents }: Pick<Thread, 'kind' | 'channel' | 'agents'>,
): Place {
  const ends = kind === 'pair' ? agents.map(({ id }) => id) : []
  return placeOf(reader, { channelId: channel?.id ?? null, agents: ends })
}

/** Returns the place of one message. Takes the recipient from its receipt, because an alias can change. */
export function placeOfMessage(
  reader: Reader,
  { fromAgentId }: ThreadMessage,
  { channel }: Pick<Thread, 'channel'>,
  receipts: Receipts | undefined,
): Place {
  return placeOf(reader, {
    channelId: channel?.id ?? null,
    agents: [fromAgentId, receipts?.recipient?.agentId ?? null],
  })
}

/** What was read: a thread, a list by its name, or an agent's newest messages. Never a text. */
type Reading =
  | { thread: string; agents: readonly string[] }
  | { thread: string; channel: string }
  | { list: string }
  | { agent: string }

const maxNamed = 8

/**
 * Records a reading before its content is shown, once per session, thread and hour. If recording fails, the caller must
 * show nothing. Looks up an earlier record while `isReading` is pending.
 */
export async function recordReading(
  account: AccountStore,
  reading: Reading,
  requestId: string | null,
  isReading: Awaitable<boolean> = true,
): Promise<void> {
  const { sessionId } = callingUser(account.actor)
  const at = account.deps.now()
  const { tool, ...named } = describe(reading)
  const row = { session: sessionId, tool, subject: named.subject, since: at - at % hour }
  const [isRecorded, isOne] = await Promise.all([account.read.activity.hasReading(row), isReading])
  if (isRecorded || !isOne) return
  try {
    await account.record(
      activityRow(account.actor, { tool, arguments: named, requestId }, 'ok', at),
      [account.change.activity.requireNoReading(row)],
    )
  } catch (error) {
    // Another request of the session has already recorded this reading.
    const isThere = error instanceof GridError && error.code === 'write_conflict' &&
      await account.read.activity.hasReading(row)
    if (!isThere) throw error
  }
}

function describe(reading: Reading) {
  if ('list' in reading) return { tool: 'read_conversations', subject: reading.list }
  if ('agent' in reading) {
    return { tool: 'read_agent', subject: reading.agent, agent: reading.agent }
  }
  const subject = reading.thread
  return 'channel' in reading
    ? { tool: 'read_channel', subject, channel: reading.channel }
    : { tool: 'read_conversation', subject, agents: reading.agents.slice(0, maxNamed) }
}
