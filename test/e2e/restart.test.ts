import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { gridPath } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: LiveGrid
const clients: ChildProcess[] = []
beforeAll(async () => {
  grid = await liveGrid()
})
afterAll(() => {
  clients.forEach((client) => client.kill('SIGKILL'))
  return grid.close()
})

test('an MCP client killed after the answer finds its messages with since: "last_batch"', async () => {
  const { id, alias } = grid.alice
  const alice = grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  for (const text of ['one', 'two', 'three']) await sendMessage(alice, { to: 'bob', text })

  const { messages } = await readAndDie({})
  const unread = await readAndDie({})
  const again = await readAndDie({ since: 'last_batch' })

  expect(messages.map(({ message }) => message)).toEqual(['one', 'two', 'three'])
  expect(unread.messages).toEqual([])
  expect(again.messages).toEqual(messages.map((message) => ({ ...message, replayed: true })))
}, 300_000)

/** Start a client process that reads, and kill it as soon as it has the answer. Bun, because it starts fastest. */
async function readAndDie(args: object): Promise<{ messages: { message: string }[] }> {
  const [program, ...words] = [...runtimeCommand('bun'), 'test/e2e/reading-client.ts']
  const client = spawn(
    program,
    [...words, new URL(gridPath, grid.url).href, grid.bob.key, JSON.stringify(args)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  clients.push(client)
  const ended = once(client, 'exit')
  const [line] = await once(createInterface({ input: client.stdout! }), 'line')
  client.kill('SIGKILL')
  await ended
  return JSON.parse(line)
}
