/** Capacity that a response occupies until its connection reports it as sent. See docs/security.md, "Overload". */
import { type AnswerRoom, answerRoom, refusal } from '../grid/answer-room.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { second } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'

/** Time limit for a client to receive its response. After it, the client is disconnected. */
const maxSendMs = 30 * second

/** Returns a function that reserves capacity for responses on this connection. */
export function roomOf(account: AccountStore, connection: CallerConnection | undefined): AnswerRoom {
  return answerRoom(account, {
    hasLeft: () => connection?.signal.aborted ?? false,
    whenSent: () => connection?.answerSent(maxSendMs),
  })
}

/**
 * Creates a list of up to `bytes` bytes if the credential has a free list slot. Holds the slot until the response has
 * been sent, or until the list exists if the runtime does not report sending. Fails with `rate_limit_exceeded`.
 */
export async function inListSlot<List>(
  account: AccountStore,
  connection: CallerConnection | undefined,
  bytes: number,
  makeList: () => Promise<List>,
): Promise<List> {
  const { actor, waiting: { lists } } = account
  if (!('credentialId' in actor)) return await makeList()
  const { credentialId } = actor
  return await roomOf(account, connection)(bytes, async () => {
    const reached = lists.reached(credentialId)
    if (reached) throw refusal('lists', reached, 'lists', 'Call again once one of them has been answered.')
    const release = lists.acquire(credentialId)!
    try {
      return await makeList()
    } finally {
      const sent = connection?.answerSent(maxSendMs)
      if (sent) void sent.then(release)
      else release()
    }
  })
}
