/** Counting the turns of conversations, and what agents are told. See docs/delivery.md, "Conversations that run away". */
import { GridError } from '../../errors.ts'
import type { AccountStore, PartRows } from '../../store/account.ts'
import type { InboxAddress, NewMessage, SendParts } from '../../store/account/new-message.ts'
import type { Turn } from '../../store/account/turns.ts'
import type { A2aDetails, Sender } from './outgoing-message.ts'

/** How many agents of a conversation an error names. */
const maxNamed = 8

/** Where a message goes to. Without an inbox it is a channel. */
interface Target {
  readonly label: string
  readonly inbox?: InboxAddress
}

/** How a message is counted. */
export function turnOf(
  sender: Pick<Sender, 'alias'>,
  { label, inbox }: Target,
  { type, isInTaskAlone, replyToMessageId, replyFrom, conversationId, contextId, hops }: NewMessage,
): Turn {
  // What is in a task alone is in no inbox, so nobody answers it without being asked to.
  if (type !== 'agent' || isInTaskAlone) return { conversation: null, named: null, answered: null, answers: 0 }
  const name = contextId ?? conversationId
  return {
    conversation: keyOf(sender.alias, label),
    // A stranger could guess the id of a conversation, so it names one only within the account.
    named: name === null || inbox?.home !== undefined ? null : keyOfId(name),
    answered: replyFrom === null || replyFrom === sender.alias ? null : replyToMessageId,
    answers: hops,
  }
}

/** The statements that count a message, if it is stored. A message of a person begins its conversations again. */
export function countTurn(
  account: AccountStore,
  sender: Sender,
  { label, inbox }: Target,
  { id, from, type, at, conversationId }: NewMessage,
  turn: Turn,
): Pick<SendParts, 'turn' | 'theirTurn'> {
  const { turns } = account.change
  const { alias } = sender
  if (type === 'human') {
    return { turn: [turns.begin([keyOf(alias, label), ...(conversationId === null ? [] : [keyOfId(conversationId)])])] }
  }
  if (turn.conversation === null) return {}
  const agents = inbox ? [alias, label.slice(1)].sort() : [alias]
  const { own, theirs } = turns.count(turn, { id, from, alias, at, agents }, inbox)
  return { turn: own, theirTurn: theirs }
}

/** The turns of the conversation within an hour, if the sender is to be told. */
export function turnsTold(rows: PartRows<'turn'>['turn']): number | undefined {
  return Math.max(0, ...rows.map(({ told }) => Number(told))) || undefined
}

/**
 * Refuse a message that is a turn of a paused conversation, or that too many answers led to.
 * Fails with `conversation_paused`.
 */
export async function refuseTurn(
  account: AccountStore,
  sender: Sender,
  { label, inbox = {} }: { label: string; inbox?: Partial<InboxAddress> },
  turn: Turn,
): Promise<void> {
  if (turn.conversation === null) return
  const { turns } = account.read
  const limits = await turns.limits()
  if (limits.hops > 0 && turn.answers > limits.hops && !await turns.isExempt(sender.agentId, inbox)) {
    throw paused(
      'hops',
      limits.hops,
      `Nothing was sent to ${label}, because more than ${limits.hops} answers led to this message. Do not answer again. Go on with other work, or tell your user.`,
    )
  }
  const agents = await turns.pausedFor(turn, sender.alias)
  if (!agents) return
  const named = agents.slice(0, maxNamed).map((alias) => `@${alias}`).join(', ')
  const who = agents.length > maxNamed ? `${named} and ${agents.length - maxNamed} more` : named
  throw paused(
    'turns',
    limits.perHour,
    `Nothing was sent to ${label}. The conversation of ${who} is paused, because it had ${limits.perHour} turns within an hour without a message of a person. Do not try again. Go on with other work, or tell your user: an owner or admin of the account can resume it on the page Attention.`,
  )
}

/**
 * How many answers led to a message: one more than the message of somebody else that it replies to. What the client
 * says in `metadata.hops` counts at most as one answer.
 */
export function hopsOf(
  sender: Sender,
  repliedTo: { fromAlias: string; hops: number } | undefined,
  a2a: A2aDetails | undefined,
): number {
  const given = Number(a2a?.metadata?.hops)
  const before = repliedTo?.hops ?? 0
  const isAnswer = repliedTo !== undefined && repliedTo.fromAlias !== sender.alias
  return isAnswer || (Number.isInteger(given) && given > before) ? before + 1 : before
}

/** What agents are told about a conversation without a message of a person. */
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
    keyOf(fromAlias, recipient.startsWith('#') ? recipient : `@${reader}`),
    ...(conversationId === null ? [] : [keyOfId(conversationId)]),
  ])
  return Math.max(0, ...keys.map((key) => long[key] ?? 0)) || undefined
}

function paused(reason: string, limit: number, text: string): GridError {
  return new GridError('conversation_paused', text, { info: { reason, limit: String(limit) } })
}

/** The key of a pair or channel. `label` is `@alias` or `#name`. */
function keyOf(sender: string, label: string): string {
  return label.startsWith('#') ? label : [`@${sender}`, label].sort().join(' ')
}

/** The key of a conversation id. */
function keyOfId(id: string): string {
  return `id ${id}`
}
