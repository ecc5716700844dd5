/** The conversation of a held message, for the person who decides on it. */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { HeldToDecide } from '../../store/account/held.ts'
import { placeOfThread, readableFrom, readerOf } from '../conversations/may-read.ts'
import { readableMessage } from '../conversations/open-message.ts'
import { type Thread, threadOf } from '../conversations/threads.ts'
import { isChannel } from '../send/in-turn.ts'
import { findHeld } from './held.ts'

export interface HeldPlace {
  /** The held message's conversation; undefined if it has no message yet or is hidden from the caller. */
  thread: number | undefined
  /** The message to which the held one replies; null if the caller may not read it, undefined if there is none. */
  answered: { seq: number; threadId: number; fromAlias: string } | null | undefined
}

/** Finds a held message's place. Records no reading, because a place contains no text. Fails as `heldMessage` does. */
export async function placeOfHeld(account: AccountStore, id: string): Promise<HeldPlace> {
  const [{ held }, reader] = await Promise.all([findHeld(account, id), readerOf(account)])
  const [thread, answered] = await Promise.all([
    threadOfHeld(account, held),
    held.replyToMessageId === null ? undefined : answeredBy(account, held.replyToMessageId),
  ])
  const mayRead = thread && readableFrom(reader, placeOfThread(reader, thread)) !== undefined
  return { thread: mayRead ? thread.id : undefined, answered }
}

async function threadOfHeld(account: AccountStore, held: HeldToDecide): Promise<Thread | undefined> {
  const { fromAgentId, toId, recipient, conversationId } = held
  if (isChannel(recipient)) return await threadOf(account, { kind: 'channel', key: toId })
  const ends = [fromAgentId, toId]
  if (conversationId === null) return await threadOf(account, { kind: 'pair', key: ends.toSorted().join(' ') })
  const own = await Promise.all(ends.map((end) => account.read.agents.byId(end)))
  const external = ends.find((_, n) => !own[n]) ?? ''
  return await threadOf(account, { kind: 'conversation', key: `${external}/${conversationId}` })
}

async function answeredBy(account: AccountStore, id: string): Promise<HeldPlace['answered']> {
  try {
    const { seq, threadId, fromAlias } = await readableMessage(account, id)
    return { seq, threadId, fromAlias }
  } catch (error) {
    if (error instanceof GridError) return null
    throw error
  }
}
