/** Held messages and decisions, as shown to the people who decide. See docs/protocol/messages.md, "Held messages". */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { DecisionFilter, HeldRow, HeldToDecide } from '../../store/account/held.ts'
import { inlinePart } from '../conversations/open-message.ts'
import { contentOf, type PartContent, partIn } from '../message/read-part.ts'
import { hashOfContent, type HeldContent, heldContent, type ShownContent, shownContent } from './held-content.ts'

export type HeldMessage = HeldRow & ShownContent & {
  /** SHA-256 of everything that is shown and delivered. */
  hash: string
  /** Whether the calling user may decide on the message, if it is still held. */
  mayDecide: boolean
}

const maxListed = 200

/** Returns up to 200 held messages that wait for the calling user, sorted by expiry. Empty for other callers. */
export async function heldMessages(account: AccountStore): Promise<HeldRow[]> {
  const { actor, deps: { now }, read } = account
  return actor.type === 'user' ? await read.held.ofUser(actor.userId, now(), maxListed) : []
}

/** Returns how many messages wait for the calling user, when the first expires, and whether this is within the hour. */
export async function countHeld(
  account: AccountStore,
): Promise<{ count: number; firstEndsAt: number | null; isUrgent: boolean }> {
  const { actor, deps: { now }, read } = account
  if (actor.type !== 'user') return { count: 0, firstEndsAt: null, isUrgent: false }
  const { count, firstEndsAt } = await read.held.countOfUser(actor.userId, now())
  return { count, firstEndsAt, isUrgent: firstEndsAt !== null && endsSoon(firstEndsAt, now()) }
}

/** Whether the decision is urgent, because the message expires within the hour. */
export function endsSoon(expiresAt: number, now: number): boolean {
  return expiresAt - now < hour
}

/** Returns a message that the calling user may decide on or has decided on. Fails with `message_not_found`. */
export async function heldMessage(account: AccountStore, id: string): Promise<HeldMessage> {
  const { held: { mayDecide, ...row }, content, hash } = await findHeld(account, id)
  return { ...rowOf(row), ...shownContent(content), hash, mayDecide }
}

/** Returns a file or a large part of a held message. Fails with `message_not_found` or `part_not_found`. */
export async function heldPartOf(account: AccountStore, id: string, partId: string): Promise<PartContent> {
  const { held, content: { parts } } = await findHeld(account, id)
  const stored = parts.find((part) => part.id === partId)
  const key = partId.slice(held.messageId.length + 1)
  const part = partIn({ part: stored, a2a: held.a2a }, held.messageId, partId) ?? inlinePart(held, partId, key)
  if (!part) throw new GridError('part_not_found', 'This message has no part with this id.')
  const { read: { uploads } } = account.ofSender(held)
  const rowOfUpload = (upload: string, n: number) => uploads.rowOfMessage(held.fromAgentId, held.messageId, upload, n)
  return contentOf({ a2a: held.a2a, part }, part, rowOfUpload)
}

/** Returns decisions, newest first. Owners and admins see all, others their own. Fails with `wrong_credential`. */
export async function decisions(account: AccountStore, filter: DecisionFilter) {
  const { userId, role } = callingUser(account.actor)
  return await account.read.held.decided(userId, role === 'owner' || role === 'admin', filter)
}

export interface FoundHeld {
  held: HeldToDecide
  content: HeldContent
  hash: string
}

/** Fails with `message_not_found`, including for messages on which the calling user may not decide. */
export async function findHeld(account: AccountStore, id: string): Promise<FoundHeld> {
  const { userId } = callingUser(account.actor)
  const { read } = account
  const held = await read.held.byId(id, userId)
  if (!held || !(held.mayDecide || held.decidedBy === userId)) {
    throw new GridError('message_not_found', 'No message with this id waits for you.')
  }
  const content = heldContent(held, await read.held.parts(id))
  return { held, content, hash: hashOfContent(content) }
}

/** Omits the fields that only the delivery needs. */
function rowOf(held: Omit<HeldToDecide, 'mayDecide'>): HeldRow {
  const { home: _home, fromAgentId: _from, fromAliasNow: _now, toId: _to, later: _later, a2a: _a2a, ...row } = held
  return row
}
