/** An attempt to reach a remote agent. */
import type { AgentActor } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { ClaimedOutbox } from '../../store/account/remote-agents.ts'

/** One attempt on an outbox that this process holds. */
export interface Attempt {
  /** As the remote agent. */
  account: AccountStore<AgentActor>
  /** The same account, as the grid itself, which reports failures. */
  system: AccountStore
  outbox: ClaimedOutbox
  /** The message that is sent or asked about; undefined if the inbox is empty. */
  messageId: string | undefined
  /** The number of this attempt: 1 for the first one since the outbox last worked. */
  number: number
  /** When it began. */
  at: number
  /** Ends the attempt. The outbox stays claimed then, until the process has ended. */
  signal: AbortSignal
}

/** Makes the next requests of an outbox. Resolves to whether the server answered as one does that works. */
export type OutboxAttempt = (attempt: Attempt) => Promise<boolean>

/** Carries a message to an agent that does not speak A2A. Resolves as `OutboxAttempt`. */
export type Transport = (attempt: Attempt, message: InboxMessage) => Promise<boolean>
