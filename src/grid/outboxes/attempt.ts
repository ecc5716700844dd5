/** The types of attempts to reach an external server. */
import type { AgentActor } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { ClaimedOutbox } from '../../store/account/remote-agents.ts'

/** One attempt on an outbox that this process holds. */
export interface Attempt {
  /** The account, acting as the remote agent. */
  account: AccountStore<AgentActor>
  /** The same account, acting as the grid itself, for failure reports. */
  system: AccountStore
  outbox: ClaimedOutbox
  /** The message being sent or polled; undefined if the inbox is empty. */
  messageId: string | undefined
  /** Number of this attempt, counted from 1 since the outbox last succeeded. */
  number: number
  /** When the attempt began. */
  at: number
  /** Aborts the attempt. The outbox then stays claimed until this process exits. */
  signal: AbortSignal
}

/** Makes an outbox's next requests. Resolves to whether the server responded correctly. */
export type OutboxAttempt = (attempt: Attempt) => Promise<boolean>

/** Delivers a message to an agent that does not speak A2A. Resolves like `OutboxAttempt`. */
export type Transport = (attempt: Attempt, message: InboxMessage) => Promise<boolean>
