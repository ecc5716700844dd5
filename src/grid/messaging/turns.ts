/** Conversations that run away: counting the turns of sends, and what agents are told. See docs/delivery.md, "Conversations that run away". */
import { GridError } from '../../errors.ts'
import type { AccountStore, CountedTurn, Pause } from '../../store/account.ts'
import type { NewMessage } from '../../store/account/new-message.ts'
import type { A2aDetails, Sender } from './outgoing-message.ts'
import type { Recipient } from './resolve.ts'

/** How many agents of a conversation an error names. */
const maxNamed = 8
/** The largest hop count that is taken from a message of another grid. */
const maxHops = 1_000_000

/**
 * Count a message that is about to be stored, if it is a turn. Reads no rows. Cancel it if the message is not stored.
 * Fails with `conversation_paused`.
 */
export function countTurn(
  account: AccountStore,
  sender: Sender,
  recipient: Recipient,
  { type, replyToMessageId, replyFrom, conversationId, a2a, hops, isInTaskAlone }: NewMessage,
): CountedTurn {
  // What is in a task alone is in no inbox, so nobody answers it without being asked to.
  if (type !== 'agent' || isInTaskAlone) return { cancel() {} }
  const turn = account.turns.send({
    from: sender.alias,
    to: recipient.label,
    home: recipient.inbox?.home,
    reply: replyToMessageId === null || replyFrom === null ? undefined : { id: replyToMessageId, from: replyFrom },
    conversationId,
    a2a,
    hops,
  })
  if ('cancel' in turn) return turn
  throw paused(turn, recipient)
}

/**
 * How many answers led to a message: one more than the message of somebody else that it replies to, and not less than
 * another grid says in `metadata.hops`.
 */
export function hopsOf(
  sender: Sender,
  repliedTo: { fromAlias: string; hops: number } | undefined,
  a2a: A2aDetails | undefined,
): number {
  const given = Number(a2a?.metadata?.hops)
  const before = Number.isInteger(given) && given > 0 ? Math.min(given, maxHops) : 0
  if (!repliedTo) return before
  return Math.max(before, repliedTo.fromAlias === sender.alias ? repliedTo.hops : repliedTo.hops + 1)
}

/** What agents are told about a conversation without input from outside. */
export function turnsNote(turns: number): string {
  return `This conversation has had ${turns} turns without new input from a person or another agent: stop unless there is new work.`
}

function paused({ agents, reason, limit }: Pause, { label }: Recipient): GridError {
  const named = agents.slice(0, maxNamed).map((alias) => `@${alias}`).join(', ')
  const who = agents.length > maxNamed ? `${named} and ${agents.length - maxNamed} more` : named
  const what = reason === 'hops'
    ? `more than ${limit} answers led to this message`
    : `it had ${limit} turns within an hour without new input from a person or another agent`
  return new GridError(
    'conversation_paused',
    `Nothing was sent to ${label}. The conversation of ${who} is paused, because ${what}. Do not try again. Go on with other work, or tell your user: an owner or admin of the account can resume it on the page Attention.`,
    { info: { reason, limit: String(limit) } },
  )
}
