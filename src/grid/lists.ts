/** How many lists can be asked for at a time, and how large all answers are together. See docs/security.md, "Overload". */
import { setTimeout } from 'node:timers/promises'
import { type GridError, limitReached } from '../errors.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import type { Reached } from '../lib/limits/concurrency-limit.ts'
import type { PageBudget } from '../lib/read-page.ts'
import { second } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'

/** A client that has not taken its answer by then is disconnected. */
const maxSendMs = 30 * second
/** How often those who wait for room look for it. */
export const roomCheckMs = 500

/**
 * Make a list of up to `bytes` if the credential has a slot for it. The slot is held until the answer is sent, where
 * the runtime tells when that is. Fails with `rate_limit_exceeded`.
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
  return await inRoom(account, connection, bytes, async () => {
    const reached = lists.reached(credentialId)
    if (reached) throw refusal('lists', reached, 'lists', 'Call again when one of them has been answered.')
    const release = lists.acquire(credentialId)!
    try {
      return await makeList()
    } finally {
      whenSent(connection, release)
    }
  })
}

/**
 * Make an answer of up to `bytes` that are held until it is sent. Without room it fails with `rate_limit_exceeded`; with
 * `waits` it waits for room, because the call has done something that must be answered.
 */
export async function inRoom<Answer>(
  account: AccountStore,
  connection: CallerConnection | undefined,
  bytes: number,
  make: () => Promise<Answer>,
  { waits = false } = {},
): Promise<Answer> {
  let release = roomFor(account, bytes)
  while (typeof release !== 'function') {
    if (!waits || connection?.signal.aborted) {
      throw refusal('answer-bytes', release, 'bytes of unsent answers', 'Call again when some of them have been read.')
    }
    await setTimeout(roomCheckMs)
    release = roomFor(account, bytes)
  }
  try {
    return await make()
  } finally {
    whenSent(connection, release)
  }
}

/** Room for so many bytes, until the returned function is called; or the limit that leaves none. */
export function roomFor({ actor, waiting }: AccountStore, bytes: number): (() => void) | Reached {
  return 'credentialId' in actor ? waiting.takeBytes(actor.credentialId, bytes) : () => {}
}

function whenSent(connection: CallerConnection | undefined, release: () => void): void {
  const sent = connection?.answerSent(maxSendMs)
  if (sent) void sent.then(release)
  else release()
}

const holders: Record<Reached['by'], string> = { key: 'This key', account: 'This account', grid: 'The grid' }

/** The error that names the limit that is reached: `This key may have 6 lists at a time.` and what to do. */
export function refusal(
  name: string,
  { by, quota }: Reached,
  what: string,
  advice: string,
  retryAfterSeconds = 1,
): GridError {
  const count = quota === 1 ? `one ${what.replace(/s$/, '')}` : `${quota.toLocaleString('en')} ${what}`
  const message = `${holders[by]} may have ${count} at a time. ${advice}`
  return limitReached('rate_limit_exceeded', message, { name, quota }, retryAfterSeconds)
}

/** A page of a list for an agent, which costs its model context. A search reads at most `rows` entries for one page. */
export const agentPage: PageBudget = { entries: 200, bytes: 29_500, chunk: 25, rows: 1_000 }
