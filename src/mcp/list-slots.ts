/** How many lists one credential can ask for at a time. See docs/protocol.md, "Pages". */
import { limitReached } from '../errors.ts'
import type { CallerConnection } from '../lib/caller-connection.ts'
import type { AccountStore } from '../store/account.ts'

/**
 * Make a list when the credential has a slot for it, and otherwise fail with `rate_limit_exceeded`. The slot is held
 * until the answer is sent, if the runtime tells when that is: an answer that nobody takes stays in memory.
 */
export async function inListSlot<List>(
  { actor, waiting: { lists } }: AccountStore,
  connection: CallerConnection | undefined,
  makeList: () => Promise<List>,
): Promise<List> {
  const release = 'credentialId' in actor ? lists.acquire(actor.credentialId) : () => {}
  if (!release) {
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
    const taken = connection?.answerTaken()
    if (taken) void taken.then(release)
    else release()
  }
}
