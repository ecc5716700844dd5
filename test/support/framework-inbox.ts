/** A grid in which @alice has asked @bob, for the examples of frameworks. */
import { rows } from './database.ts'
import { callTool } from './mcp.ts'
import { liveGrid } from './server.ts'

/** The address of the grid and the key of @bob. `answers`: the unread messages of @alice, which are read by it. */
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
    /** How many leases of messages are open. */
    leases: async () => (await rows(grid, 'SELECT 1 FROM leases WHERE account_id = ?', [grid.acme.id])).length,
    close: grid.close,
  }
}
