/** How many lists can be asked for at a time, and how large they are together. See docs/security.md, "Overload". */
import { limitReached } from '../errors.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import type { PageBudget } from '../lib/read-page.ts'
import { second } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'

/** A client that has not taken its list by then is disconnected. */
const maxSendMs = 30 * second

/**
 * Make a list of up to `bytes` if the credential has a slot for it. The slot is held until the answer is sent, where
 * the runtime tells when that is. Fails with `rate_limit_exceeded`.
 */
export async function inListSlot<List>(
  { actor, waiting }: AccountStore,
  connection: CallerConnection | undefined,
  bytes: number,
  makeList: () => Promise<List>,
): Promise<List> {
  if (!('credentialId' in actor)) return await makeList()
  const { lists } = waiting
  const releaseSlot = lists.acquire(actor.credentialId)
  const releaseBytes = releaseSlot && waiting.takeListBytes(bytes)
  const release = () => {
    releaseSlot?.()
    releaseBytes?.()
  }
  if (!releaseBytes) {
    release()
    throw limitReached(
      'rate_limit_exceeded',
      'Too many lists at a time. Call again when one of them has been answered.',
      { name: 'lists', quota: lists.perKey },
      1,
    )
  }
  try {
    return await makeList()
  } finally {
    const sent = connection?.answerSent(maxSendMs)
    if (sent) void sent.then(release)
    else release()
  }
}

/** A page of a list for an agent, which costs its model context. A search reads at most `rows` entries for one page. */
export const agentPage: PageBudget = { entries: 200, bytes: 32_000, chunk: 25, rows: 1_000 }
