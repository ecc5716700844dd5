/** What a check of messages is. */
import type { AccountStore } from '../../store/account.ts'
import type { ReviewedMessage } from '../../store/account/new-message.ts'
import type { Draft, Sender } from './outgoing-message.ts'
import type { Recipient } from './resolve.ts'

/** A message before its commit, with its sender and its recipient. */
export interface OutgoingMessage {
  readonly account: AccountStore
  readonly sender: Sender
  readonly recipient: Recipient
  readonly message: ReviewedMessage
  /** What was asked to be sent. It has the A2A details as a whole. */
  readonly draft: Draft
}

/**
 * A check of every message. It returns the message to store, changed or not, or throws a `GridError` to refuse it.
 * It may use the network, because it runs once for each send and before anything is written.
 */
export type ReviewCheck = (outgoing: OutgoingMessage) => Promise<ReviewedMessage>
