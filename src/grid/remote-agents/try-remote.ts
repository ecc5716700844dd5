/** Tests a remote agent's address. See docs/protocol/a2a.md, "Remote agents". */
import { invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import type { RemoteAddress, RemoteCard } from '../../remote/card.ts'
import { type RemoteAnswer, sendToRemote } from '../../remote/client.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import { findCard } from './manage.ts'

export interface TriedRemote extends Record<string, unknown> {
  url: string
  card: RemoteCard | null
  answer: RemoteAnswer | null
  problem: string | null
  /** The time from the request to the answer. */
  milliseconds: number | null
}

/** Fetches the card at an address and sends one message, bypassing all inboxes. Fails with `invalid_input`. */
export async function tryRemote(
  store: Pick<AccountStore, 'deps'>,
  address: RemoteAddress,
  text: string,
): Promise<TriedRemote> {
  const { url } = address
  if (!URL.canParse(url)) throw invalidInput('url: must be a URL', 'url')
  const nothing = { url, card: null, answer: null, problem: null, milliseconds: null }
  const found = await findCard(store, address)
  if ('problem' in found) return { ...nothing, problem: found.problem }
  const { card } = found
  const startedAt = performance.now()
  const took = () => Math.round(performance.now() - startedAt)
  try {
    const message = { messageId: newId(), parts: [{ text }] }
    const answer = await sendToRemote(store.deps.safeStream, address, card, message)
    return { ...nothing, card, answer, milliseconds: took() }
  } catch (error) {
    if (!(error instanceof RemoteRefusal || error instanceof RemoteError)) throw error
    const problem = error instanceof RemoteError ? `${error.reason}: ${error.detail}` : error.message
    return { ...nothing, card, problem, milliseconds: took() }
  }
}
