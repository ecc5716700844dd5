/** What `turns.ts` is given and returns. See docs/delivery.md, "Conversations that run away". */
import type { PauseReason } from '../account/conversations.ts'

/** The limits of the conversations of an account. 0: no limit. */
export interface TurnLimits {
  /** Agents are told after this many turns without input from outside. */
  warn: number
  /** After this many within an hour the conversation is paused. */
  perHour: number
  /** A chain of replies is paused after this many. */
  hops: number
}

/** A message about to be committed, as its turns are counted. Agents are aliases without `@`. */
export interface SentTurn {
  from: string
  /** `@alias` or `#name`. */
  to: string
  /** The account of a recipient in another account. */
  home?: string
  /** The message that it replies to, and who sent that. */
  reply?: { id: string; from: string }
  conversationId: string | null
  /** What A2A knows of it, as JSON text. */
  a2a: string | null
  hops: number
}

/** A message as it was read. */
export interface ReadTurn {
  fromAlias: string
  type: 'agent' | 'human' | 'system'
  /** `@alias` or `#name`. */
  recipient: string
  conversationId: string | null
  /** What A2A knows of it, as JSON text, which may be damaged. */
  a2a: string | null
}

/** A message that was counted. */
export interface CountedTurn {
  /** The turns of its conversation without input from outside; undefined below the number at which agents are told. */
  turns?: number
  /** Take it back: the message was not stored. */
  cancel(): void
}

/** Why a message is refused. */
export interface Pause {
  agents: string[]
  reason: PauseReason
  limit: number
}
