/** What a send does besides storing the message: each concern is one part, in a file of its own. */
import type { UnitRows } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import type { SentMessage } from './outgoing-message.ts'

/** One concern of a send: what it adds to the unit of the message, and why it refuses the message. */
export interface SendPart {
  /** They fail the whole unit unless they hold. */
  readonly preconditions?: readonly Statement[]
  /** They run behind the statement that stores the message. Each can be repeated. */
  readonly statements?: readonly Statement[]
  /** The statements do something also without the message, so the unit must fail if the message is not stored. */
  readonly needsMessage?: boolean
  /** Called if nothing was stored, because a condition of the unit did not hold. Fails if it was this part's. */
  refuse?(): Promise<unknown>
  /** Called after the commit, with the rows of `statements`. Returns what the sender is told. */
  stored?(rows: UnitRows): Partial<SentMessage> | undefined | void | Promise<void>
}
