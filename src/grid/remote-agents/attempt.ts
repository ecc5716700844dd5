/** An attempt to reach a remote agent. */
import type { AgentActor } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import type { HeldLine } from '../../store/account/remote-agents.ts'

/** One attempt on a line that this process holds. */
export interface Attempt {
  /** As the remote agent. */
  account: AccountStore<AgentActor>
  /** The same account, as the grid itself, which tells of failures. */
  system: AccountStore
  line: HeldLine
  /** The message that is sent or asked about; undefined if the inbox is empty. */
  messageId: string | undefined
  /** The number of this attempt: 1 for the first one since the line last worked. */
  number: number
  /** When it began. */
  at: number
  /** Ends the attempt. The line stays held then, until the process has ended. */
  signal: AbortSignal
}

/** Makes the next requests of a line. Resolves to whether the server answered as one does that works. */
export type LineAttempt = (attempt: Attempt) => Promise<boolean>
