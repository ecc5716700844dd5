/** Conversations in a test grid. */
import type { AccountStore } from '../../src/store/account.ts'
import type { Store } from '../../src/store/store.ts'
import { followLog, gridFollowers } from '../../src/worker/followers.ts'
import { rows } from './database.ts'
import type { TestGrid } from './grid.ts'
import { sendMessage } from './messaging.ts'

/** Sends a message and places it in a conversation. Resolves to the message's id and number. */
export async function say(
  grid: TestGrid,
  from: AccountStore,
  to: string,
  text: string,
  more: { replyToMessageId?: string; conversationId?: string } = {},
): Promise<{ id: string; seq: number }> {
  const { id } = await sendMessage(from, { to, text, ...more })
  await followLog(grid.store)
  const [{ seq }] = await from.read.threadMessages.byIds([id])
  return { id, seq }
}

/** Returns an account's conversation tables, including the thread ids, which a rebuild preserves. */
export async function projected(grid: TestGrid, accountId: string): Promise<Record<string, Record<string, unknown>[]>> {
  const read = async (sql: string) => (await rows(grid, sql, [accountId])).map((row) => ({ ...row }))
  return {
    threads: await read('SELECT * FROM threads WHERE account_id = ? ORDER BY id'),
    messages: await read('SELECT * FROM thread_messages WHERE account_id = ? ORDER BY seq'),
    agents: await read('SELECT * FROM thread_agents WHERE account_id = ? ORDER BY agent_id, thread_id'),
    edges: await read('SELECT * FROM traffic WHERE account_id = ? ORDER BY period_ms, at, source, target'),
  }
}

/** Follows the log in the process of `store`, as the worker does. Returns a function that stops following. */
export function follow(store: Store): () => Promise<void> {
  const ends = gridFollowers(store).map((follower) => store.loop.follow(follower))
  return async () => void await Promise.all(ends.map((end) => end()))
}
