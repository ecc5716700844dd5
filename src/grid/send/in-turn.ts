/** Counts turns of conversations. See docs/conversations.md, "Conversations that run away". */
import { GridError } from '../../errors.ts'
import { numberOf } from '../../lib/text.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { labelOf } from './resolve.ts'
import type { InboxAddress, NewMessage } from '../../store/account/new-message.ts'
import type { Conversation, MemberTurn, Turn, TurnLimits } from '../../store/account/turns.ts'
import type {
  Concern,
  Draft,
  OutgoingMessage,
  ReadTurns,
  Send,
  Sender,
  SendInput,
  SendPart,
} from '../message/outgoing-message.ts'

/** Maximum number of agents named in an error. */
const maxNamed = 8

/** Counts a message if it is a turn of its conversation. A person's message resets the counts of its conversations. */
export const inTurn: Concern = {
  async plan(send) {
    const { account, sender: { alias, program }, recipient: { label, inbox }, message } = send
    if (message.type === 'human' || program !== undefined) return begin(send)
    // A message that exists only in a task is in no inbox, so nobody answers it unprompted.
    if (message.type !== 'agent' || message.isInTaskAlone) return undefined
    const key = keyOf(alias, label)
    const named = namedKey(inbox, message)
    const { conversations, limits } = await (send.turns ?? turnsOf(account, key, named))
    await refuseBeyondHops(send, limits)
    const { id, from, replyFrom, replyToMessageId, at } = message
    const answered = replyFrom === null || replyFrom === alias ? null : replyToMessageId
    const known = conversations.filter((of) => of.key === key || of.key === named)
    const isTurn = (of: Conversation) => of.sender !== alias || (answered !== null && answered !== of.answered)
    const paused = known.find((of) => pauses(of, alias) && isTurn(of))
    if (paused) throw await pausedError(account, label, paused)

    const turn: Turn = { id, from, alias, answered, at }
    const begins = (key: string) => known.every((of) => of.key !== key || isTurn(of))
    if (isChannel(label) && begins(key)) return countMembers(send, key, turn)
    // Counts the message under its conversation id only if it is no turn of its pair or channel.
    return count(send, key, begins(key) ? key : named !== null && begins(named) ? named : undefined, turn)
  },
}

/**
 * Returns what is known of a message's conversations before the message that it replies to was read. Unless a reply
 * names a different conversation, it belongs to the conversation of that message. A reply also counts hops.
 */
export function readTurns(account: AccountStore, { agentId, alias }: Sender, input: SendInput): Promise<ReadTurns> {
  const key = keyOf(alias, labelOf(input.to))
  const named = input.a2a?.contextId ?? input.conversationId
  const { replyToMessageId: repliedTo } = input
  if (repliedTo === undefined) return turnsOf(account, key, named === undefined ? null : keyOfId(named))
  const { turns } = account.read
  return withLimits(
    account,
    named === undefined ? turns.ofReply(key, agentId, repliedTo) : turns.of(key, keyOfId(named)),
  )
}

async function turnsOf({ read }: AccountStore, key: string, named: string | null): Promise<ReadTurns> {
  return { conversations: await read.turns.of(key, named) }
}

async function withLimits({ read }: AccountStore, found: Promise<Conversation[]>): Promise<ReadTurns> {
  const [conversations, limits] = await Promise.all([found, read.turns.limits()])
  return { conversations, limits }
}

function begin({ account: { change: { turns } }, sender, recipient: { label }, message }: Send): SendPart {
  const { conversationId } = message
  const key = keyOf(sender.alias, label)
  const statements = [turns.begin(conversationId === null ? [key] : [key, keyOfId(conversationId)])]
  return { statements: isChannel(label) ? [...statements, turns.beginMembers(key)] : statements }
}

function countMembers({ account, message: { replyFrom } }: Send, channel: string, turn: Turn): SendPart {
  return {
    statements: account.change.turns.countMembers(channel, turn.answered === null ? null : replyFrom, turn),
    stored: async ([rows]) => {
      if (rows.length === 0) return undefined
      const { key: pair, agents, turns, notify_turns: notify } = rows[0]
      const last = { key: String(pair), agents: JSON.parse(String(agents)), turns: Number(turns) }
      // The message is stored; the next turn tries again.
      await pauseGroup(account, channel, last, turn.at)
        .catch((error) => account.deps.log.warn('A conversation could not be paused', { error }))
      return Number(notify) > 0 ? { turns: Number(notify) } : undefined
    },
  }
}

function count({ account, recipient }: Send, key: string, counted: string | undefined, turn: Turn): SendPart {
  const { turns } = account.change
  const { label, inbox } = recipient
  const agents = inbox ? [turn.alias, label.slice(1)].sort() : [turn.alias]
  const here = counted === undefined ? [] : [turns.count(counted, agents, turn, inbox)]
  // Also counts the turn in the recipient's account, which has its own limits.
  const there = inbox?.home === undefined ? [] : [turns.countThere(key, agents, turn, { ...inbox, home: inbox.home })]
  return {
    statements: [...here, ...there],
    stored: ([rows]) => {
      const notify = counted === undefined ? 0 : Number(rows[0]?.notify_turns ?? 0)
      return notify > 0 ? { turns: notify } : undefined
    },
  }
}

/**
 * Pauses the channel members who answer each other and have reached the limit together: those linked by pairs with more
 * than a tenth of the limit. Posts that answer nobody are spread over many pairs, but a loop concentrates on few.
 */
async function pauseGroup(
  account: AccountStore,
  channel: string,
  last: Omit<MemberTurn, 'notifyTurns'>,
  at: number,
): Promise<void> {
  const { read, change } = account
  const { perHour } = await read.turns.limits()
  if (perHour === 0 || last.turns <= perHour / 10) return
  const pairs = await read.turns.members(channel, at - hour, Math.floor(perHour / 10))
  const group = new Set(last.agents)
  let among = pairs
  for (let size = 0; size < group.size;) {
    size = group.size
    among = pairs.filter(({ agents }) => agents.some((alias) => group.has(alias)))
    for (const { agents } of among) agents.forEach((alias) => group.add(alias))
  }
  const turns = among.reduce((sum, { turns }) => sum + turns, 0)
  if (turns < perHour) return
  const since = Math.min(...among.map(({ since }) => since))
  await account.write(change.turns.pauseMembers(channel, { agents: [...group].sort(), turns, since, last, at }))
}

/** Whether a conversation is paused for a sender. In a channel, only members who answered each other are paused. */
function pauses({ key, agents, pausedAt }: Conversation, sender: string): boolean {
  return pausedAt !== null && (!isChannel(key) || agents.includes(sender))
}

/** Fails with `conversation_paused` for a message that was counted as a turn when it was held. */
export async function refusePaused(
  { account, sender: { alias, program }, recipient: { label, inbox } }: OutgoingMessage,
  message: Pick<NewMessage, 'type' | 'isInTaskAlone' | 'contextId' | 'conversationId'>,
): Promise<void> {
  if (message.type !== 'agent' || program !== undefined || message.isInTaskAlone) return
  const known = await account.read.turns.of(keyOf(alias, label), namedKey(inbox, message))
  const paused = known.find((of) => pauses(of, alias))
  if (paused) throw await pausedError(account, label, paused)
}

async function refuseBeyondHops(
  { account, sender, recipient, message: { hops } }: Send,
  limits: TurnLimits | undefined,
): Promise<void> {
  if (hops === 0) return
  const { turns } = account.read
  const limit = (limits ?? await turns.limits()).hops
  if (limit === 0 || hops <= limit || await turns.isExempt(sender.agentId, recipient.inbox ?? {})) return
  throw paused(
    'hops',
    limit,
    `Nothing was sent to ${recipient.label}, because more than ${limit} answers led to this message. Do not answer again. Go on with other work, or tell your user.`,
  )
}

async function pausedError(account: AccountStore, label: string, { key, agents }: Conversation): Promise<GridError> {
  const { perHour } = await account.read.turns.limits()
  const named = agents.slice(0, maxNamed).map((alias) => `@${alias}`).join(', ')
  const who = agents.length > maxNamed ? `${named} and ${agents.length - maxNamed} more` : named
  return paused(
    'turns',
    perHour,
    `Nothing was sent to ${label}. The conversation of ${who}${
      isChannel(key) ? ` in ${key}` : ''
    } is paused, because it had ${perHour} turns within an hour with no message from a person. Do not try again. Go on with other work, or tell your user: an owner or admin of the account can resume it on the page Attention.`,
  )
}

/**
 * Returns the number of answers that led to a message: one more than for the message it replies to. A higher count in
 * `metadata.hops` also counts as only one more.
 */
export function hopsOf(sender: Sender, repliedTo: Draft['repliedTo'], details: Draft['details']): number {
  const given = numberOf(details?.metadata?.hops)
  const before = repliedTo?.hops ?? 0
  const isAnswer = repliedTo !== undefined && repliedTo.fromAlias !== sender.alias
  return isAnswer || (Number.isInteger(given) && given > before) ? before + 1 : before
}

function paused(reason: string, limit: number, text: string): GridError {
  return new GridError('conversation_paused', text, { info: { reason, limit: String(limit) } })
}

/** Returns the key of a pair or channel. `label` is `@alias` or `#name`. */
export function keyOf(sender: string, label: string): string {
  return isChannel(label) ? label : [`@${sender}`, label].sort().join(' ')
}

/** Whether the string is the label or key of a channel, or the key of two of its members. */
export function isChannel(label: string): boolean {
  return label.startsWith('#')
}

export function keyOfId(id: string): string {
  return `id ${id}`
}

/** Returns the key of a message's conversation id. Agents of other accounts could guess an id, so they get no key. */
function namedKey(
  inbox: InboxAddress | undefined,
  { contextId, conversationId }: Pick<NewMessage, 'contextId' | 'conversationId'>,
): string | null {
  const name = inbox?.home === undefined ? contextId ?? conversationId : null
  return name === null ? null : keyOfId(name)
}
