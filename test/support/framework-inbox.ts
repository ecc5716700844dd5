/** A grid in which @alice has asked @bob a question, for the framework examples. */
import { rows } from './database.ts'
import { callTool } from './mcp.ts'
import { liveGrid } from './server.ts'

/** Returns the grid's URL and @bob's key. `answers` reads @alice's unread messages. */
export async function askedInbox() {
  const grid = await liveGrid()
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'What is 6 times 7?' })
  const messagesOf = async (key: string): Promise<string[]> => {
    const { text } = await callTool(grid, key, 'read_messages', {})
    return (text as { message: string }[]).map(({ message }) => message)
  }

  return {
    url: grid.url,
    key: grid.bob.key,
    answers: () => messagesOf(grid.alice.key),
    /** Number of open message leases. */
    leases: async () => (await rows(grid, 'SELECT 1 FROM leases WHERE account_id = ?', [grid.acme.id])).length,
    close: grid.close,
  }
}
