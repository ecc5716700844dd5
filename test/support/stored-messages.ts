/** Derives what a reader must see of a message, from the message's row alone. */
import { bytesOf } from '../../src/grid/message/given-parts.ts'
import { isoTime } from '../../src/lib/time.ts'
import { rows } from './database.ts'
import type { TestGrid } from './grid.ts'

export type ShownMessage = Record<string, unknown> & { message_id: string; message: string }

/** Returns the messages with these ids from the database, each as a first read must show it. */
export async function storedMessages(grid: TestGrid, ids: string[]): Promise<Map<string, ShownMessage>> {
  const found = (await Promise.all(
    [grid.acme, grid.evil].map(({ id }) =>
      rows(
        grid,
        'SELECT * FROM messages WHERE account_id = ? AND id IN (SELECT value FROM json_each(?))',
        [id, JSON.stringify(ids)],
      )
    ),
  )).flat()
  return new Map(found.map((row) => {
    const isPost = String(row.recipient).startsWith('#')
    const user = `@${row.from_alias}`
    return [String(row.id), {
      message_id: String(row.id),
      channel: isPost ? '#general' : 'direct',
      user,
      type: 'agent',
      ...(row.a2a !== null && { via: 'a2a' }),
      ...(row.account_id === grid.evil.id && { external: true }),
      message: String(row.body),
      reply_to: isPost ? '#general' : user,
      timestamp: isoTime(Number(row.created_at)).replace('.000Z', 'Z'),
      ...(row.conversation_id !== null && { conversation_id: row.conversation_id }),
      ...(row.sanitized === 1 && { sanitized: true }),
      ...(row.a2a !== null && detailsOf(JSON.parse(String(row.a2a)))),
    }]
  }))
}

/** Omits the first part, which is the message text, unless all of its characters were removed. */
function detailsOf({ parts = [], ...a2a }: { taskId: string; parts?: Record<string, unknown>[] }) {
  const others = parts.slice(parts[0]?.text === '' ? 0 : 1).map((part) => ({ ...part, bytes: bytesOf(part) }))
  return { a2a, task_id: a2a.taskId, ...(others.length > 0 && { parts: others }) }
}
