/** Looking at one's own mailbox without changing it: what was handed out before, and what waits. */
import { callingAgent } from '../../auth/actor.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Mail } from '../../store/account/inbox-message.ts'
import { cursorAt, placeOf } from './cursor.ts'
import { asGridMessage, budgetOf, fitting, type GridMessage, type PageSize, rendered } from './read-messages.ts'

/** How far the clocks of two processes, or of one before and after a correction, may differ. */
const clockSlackMs = 5 * minute
const unitMs: Record<string, number> = { s: second, m: minute, h: hour, d: day }

export interface Page {
  /** Those handed out before say `replayed`. */
  messages: GridMessage[]
  /** Whether the selection goes on behind this page; `since` with the cursor goes on with it. */
  hasMore: boolean
  /** The place of the last message of the page. Opaque. */
  cursor: string
  /** The length of the message that is next, when it alone is longer than `maxChars`. */
  tooLong?: number
}

/**
 * A page of the calling agent's mailbox, oldest first, that changes nothing: no flags, no receipts, no batch.
 *
 * `since` is `last_batch` (the newest hand-out), a duration such as `1h` (by the time of storing) or a
 * cursor (what was stored behind that place); without it, what is unread is shown as the next read would.
 *
 * Fails with `wrong_credential`, `invalid_input` or `cursor_expired`. Reliability 2.3.
 */
export async function readAgain(account: AccountStore, input: PageSize & { since?: string }): Promise<Page> {
  const { agentId } = callingAgent(account.actor)
  const budget = budgetOf(input)
  // One more than asked for tells whether there is more.
  const { mail, from } = await select(account, agentId, input.since, budget.limit + 1)
  const page = fitting(mail, budget)
  const next = mail[page.length]
  // A page without messages ends before the one that did not fit.
  const end = page.at(-1)?.seq ?? (next ? next.seq - 1 : from)
  return {
    // What is damaged is left out: a read parks it, a look changes nothing.
    messages: rendered(page, asShown).messages,
    hasMore: next !== undefined,
    cursor: cursorAt(account, agentId, end),
    ...(page.length === 0 && next && { tooLong: next.chars }),
  }
}

/** The selection in its order, and the place where an empty one stands. */
async function select(
  account: AccountStore,
  agentId: string,
  since: string | undefined,
  limit: number,
): Promise<{ mail: Mail[]; from: number }> {
  const { mailbox } = account.read
  if (since === undefined) {
    return { mail: await mailbox.waiting(agentId, limit), from: await mailbox.lastRead(agentId) }
  }
  if (since === 'last_batch') {
    const batch = await mailbox.lastBatch(agentId)
    const mail = batch === null ? [] : await mailbox.batch(agentId, batch)
    return { mail, from: await mailbox.lastRead(agentId) }
  }
  const duration = durationMs(since)
  if (duration !== undefined) {
    const at = account.deps.now() - duration
    const mail = await mailbox.storedSince(agentId, at, at - clockSlackMs, limit)
    return { mail, from: await mailbox.lastRead(agentId) }
  }
  const from = placeOf(account, agentId, since)
  return { mail: await mailbox.behind(agentId, from, limit), from }
}

function durationMs(text: string): number | undefined {
  const [, count, unit] = text.match(/^(\d{1,6})([smhd])$/) ?? []
  return unit === undefined ? undefined : Number(count) * unitMs[unit]
}

function asShown(mail: Mail): GridMessage {
  return { ...asGridMessage(mail), ...(mail.state === 'read' && { replayed: true as const }) }
}
