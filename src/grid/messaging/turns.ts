/** Turns of conversations, and their limits. See docs/delivery.md, "Conversations that run away". */
import { numberOf } from '../../lib/text.ts'
import { requireAdmin } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { type AccountStore, defaultTurnLimits, type TurnLimits } from '../../store/account.ts'
import type { InboxAddress, NewMessage } from '../../store/account/new-message.ts'
import type {
  Conversation,
  CountedConversation,
  MemberTurn,
  PlacedConversation,
  Turn,
} from '../../store/account/turns.ts'
import type { Statement } from '../../store/sql.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import { hour } from '../../lib/time.ts'
import { activityRow } from '../activity.ts'
import { findProgram } from '../agents/find-agent.ts'
import { authorize } from '../authorize.ts'
import type { Thread } from '../conversations/threads.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import type { A2aDetails, Recipient, Sender, SendPart } from './outgoing-message.ts'

const maxNamed = 8

/**
 * What `turnPart` reads of a message that replies to none, before it is known whether its recipient exists. `label` is the
 * recipient as addressed.
 */
export async function readTurns(
  account: AccountStore,
  { alias }: Sender,
  label: string,
  name: string | undefined,
): Promise<Conversation[]> {
  return await account.read.turns.of(keyOf(alias, label), name === undefined ? null : keyOfId(name))
}

/** Counts a message, if it is a turn of its conversation. A message of a person begins its conversations again. */
export async function turnPart(
  account: AccountStore,
  sender: Sender,
  recipient: Pick<Recipient, 'label' | 'inbox'>,
  message: NewMessage,
  ahead?: Promise<Conversation[]>,
): Promise<SendPart> {
  const { id, from, type, isInTaskAlone, conversationId, contextId, replyFrom, replyToMessageId, at } = message
  const { label, inbox } = recipient
  const { alias } = sender
  const { turns } = account.change
  const key = keyOf(alias, label)
  if (type === 'human' || sender.program !== undefined) {
    const statements = [turns.begin(conversationId === null ? [key] : [key, keyOfId(conversationId)])]
    return { statements: isChannel(label) ? [...statements, turns.beginMembers(key)] : statements }
  }
  // What is in a task alone is in no inbox, so it is not answered without being asked for.
  if (type !== 'agent' || isInTaskAlone) return {}
  // An agent of another account could guess the id of a conversation, so it names one only within the account.
  const name = inbox?.home === undefined ? contextId ?? conversationId : null
  const named = name === null ? null : keyOfId(name)
  const answered = replyFrom === null || replyFrom === alias ? null : replyToMessageId
  const [found] = await Promise.all([
    ahead ?? account.read.turns.of(key, named),
    refuseBeyondHops(account, sender, recipient, message),
  ])
  const known = found.filter((of) => of.key === key || of.key === named)
  const isTurn = (of: Conversation) => of.sender !== alias || (answered !== null && answered !== of.answered)
  const paused = known.find((of) => pauses(of, alias) && isTurn(of))
  if (paused) throw await pausedError(account, label, paused)

  const turn: Turn = { id, from, alias, answered, at }
  const begins = (key: string) => known.every((of) => of.key !== key || isTurn(of))
  if (isChannel(label) && begins(key)) {
    return {
      statements: turns.countMembers(key, answered === null ? null : replyFrom, turn),
      stored: async ([rows]) => {
        if (rows.length === 0) return undefined
        const { key: pair, agents, turns, told } = rows[0]
        const last = { key: String(pair), agents: JSON.parse(String(agents)), turns: Number(turns) }
        // The message is stored; the next turn tries again.
        await pauseGroup(account, key, last, at)
          .catch((error) => account.deps.log.warn('A conversation could not be paused', { error }))
        return Number(told) > 0 ? { turns: Number(told) } : undefined
      },
    }
  }
  const statements: Statement[] = []
  const agents = inbox ? [alias, label.slice(1)].sort() : [alias]
  // Under its id it counts only if it is no turn of its pair or channel.
  const counted = begins(key) ? key : named !== null && begins(named) ? named : undefined
  if (counted !== undefined) statements.push(turns.count(counted, agents, turn, inbox))
  // The account of the recipient has limits of its own.
  if (inbox?.home !== undefined) {
    statements.push(turns.countThere(key, agents, turn, { ...inbox, home: inbox.home }))
  }
  return {
    statements,
    stored: ([rows]) => {
      const told = counted === undefined ? 0 : Number(rows[0]?.told ?? 0)
      return told > 0 ? { turns: told } : undefined
    },
  }
}

/**
 * Pause the members of a channel that answer each other, once they have reached the limit together: those whom pairs of
 * more than a tenth of the limit connect. Posts that answer nobody spread over many pairs, and a loop over few.
 */
async function pauseGroup(
  account: AccountStore,
  channel: string,
  last: Omit<MemberTurn, 'told'>,
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

/** Whether a conversation is paused for a sender. In a channel only those are paused that answered each other. */
function pauses({ key, agents, pausedAt }: Conversation, sender: string): boolean {
  return pausedAt !== null && (!isChannel(key) || agents.includes(sender))
}

/** Fails with `conversation_paused`, for a message that was counted as a turn when it was held. */
export async function refusePaused(
  account: AccountStore,
  { alias, program }: Sender,
  { label, inbox }: Pick<Recipient, 'label' | 'inbox'>,
  { type, isInTaskAlone, contextId, conversationId }: NewMessage,
): Promise<void> {
  if (type !== 'agent' || program !== undefined || isInTaskAlone) return
  const name = inbox?.home === undefined ? contextId ?? conversationId : null
  const known = await account.read.turns.of(keyOf(alias, label), name === null ? null : keyOfId(name))
  const paused = known.find((of) => pauses(of, alias))
  if (paused) throw await pausedError(account, label, paused)
}

async function refuseBeyondHops(
  account: AccountStore,
  sender: Sender,
  { label, inbox = {} }: { label: string; inbox?: Partial<InboxAddress> },
  { hops }: NewMessage,
): Promise<void> {
  if (hops === 0) return
  const { turns } = account.read
  const limit = (await turns.limits()).hops
  if (limit === 0 || hops <= limit || await turns.isExempt(sender.agentId, inbox)) return
  throw paused(
    'hops',
    limit,
    `Nothing was sent to ${label}, because more than ${limit} answers led to this message. Do not answer again. Go on with other work, or tell your user.`,
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
    } is paused, because it had ${perHour} turns within an hour without a message of a person. Do not try again. Go on with other work, or tell your user: an owner or admin of the account can resume it on the page Attention.`,
  )
}

/** How many answers led to a message: one more than to that which it replies to. `metadata.hops` counts as one. */
export function hopsOf(
  sender: Sender,
  repliedTo: { fromAlias: string; hops: number } | undefined,
  a2a: A2aDetails | undefined,
): number {
  const given = numberOf(a2a?.metadata?.hops)
  const before = repliedTo?.hops ?? 0
  const isAnswer = repliedTo !== undefined && repliedTo.fromAlias !== sender.alias
  return isAnswer || (Number.isInteger(given) && given > before) ? before + 1 : before
}

export function turnsNote(turns: number): string {
  return `This conversation has had ${turns} turns within an hour without a message of a person: stop unless there is new work.`
}

/** The turns of the conversations that messages belong to, if their reader is to be told. `long` is the most by key. */
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

function paused(reason: string, limit: number, text: string): GridError {
  return new GridError('conversation_paused', text, { info: { reason, limit: String(limit) } })
}

/** The key of a pair or channel. `label` is `@alias` or `#name`. */
function keyOf(sender: string, label: string): string {
  return isChannel(label) ? label : [`@${sender}`, label].sort().join(' ')
}

/** Whether it is the label or key of a channel, or the key of two members of one. */
function isChannel(label: string): boolean {
  return label.startsWith('#')
}

function keyOfId(id: string): string {
  return `id ${id}`
}

export const maxTurnLimit = 1_000_000
const maxTold = 500

export interface PausedConversation extends PlacedConversation {
  pausedAt: number
}

/** The pause that stops what is said in a thread, with the limit that it reached; undefined if there is none. */
export async function pauseOf(
  { read: { turns } }: AccountStore,
  thread: Awaitable<Pick<Thread, 'id' | 'kind' | 'agents'>>,
): Promise<{ pause: PausedConversation; perHour: number } | undefined> {
  const [paused, { id, kind, agents }] = await Promise.all([turns.paused(), thread])
  // Two agents have the same turns in all of their threads, of which a pause names the newest.
  const key = kind === 'pair' && agents.length === 2 ? keyOf(agents[0].alias, `@${agents[1].alias}`) : undefined
  const pause = paused.find((of) => of.threadId === id || of.key === key)
  return pause && { pause, perHour: (await turns.limits()).perHour }
}

/** Let a paused conversation begin again. `key` is its key. Fails with `conversation_not_found`. */
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

/** Change the limits of the account's conversations. 0 switches one off; omitted ones stay as they are. */
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

/** Mark an agent as automated, or not: its messages are no turns, and its paused conversations begin again. */
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

/** Record which conversations were paused. Resolves to those that the owners are now to be told of. */
export async function recordPauses(account: AccountStore): Promise<CountedConversation[]> {
  requireAdmin(account.actor)
  const { actor, change: { turns }, deps, read } = account
  const unnotified = await read.turns.unnotified(maxTold)
  for (const { key, agents, turns: n } of unnotified) {
    const call = { tool: 'pause_conversation', arguments: { agents, turns: n }, requestId: null }
    await account.record(activityRow(actor, call, 'ok', deps.now()), [turns.markNotified(key, deps.now())])
  }
  return unnotified
}
