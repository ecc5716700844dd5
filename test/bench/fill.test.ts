import { createClient } from '@libsql/client'
import { afterAll, expect, test } from 'vitest'
import { checkHoldsOnly, readMessagesRequest, sendMessage, sendMessageRequest } from '../../scripts/bench/calls.ts'
import { withConnections } from '../../scripts/bench/connections.ts'
import { type BenchDatabase, createDatabase, startGrid } from '../../scripts/bench/grid.ts'
import { cleanUp } from '../../scripts/bench/server.ts'

const agents = { sender: 1, reader: 8 }
const messages = 100_000
const pairs = 40
/** A pair reads two requests and some pages, and a checkpoint reads the log: 16 MiB. The history has some 80 MiB. */
const most = 20 * 2 ** 20

afterAll(cleanUp)

test(
  'a grid filled with 100,000 messages has all indexes, and neither a send nor a read goes through its history',
  async () => {
    const [filled, empty] = await Promise.all([
      createDatabase('file', { agents, history: { agents: 20, messages } }),
      createDatabase('file', { agents: {} }),
    ])
    expect(await indexesOf(filled)).toEqual(await indexesOf(empty))

    const { server, agents: { sender: [sender], reader } } = await startGrid('node', filled)
    const bytesRead = await withConnections(server.port, async (connect) => {
      const connection = connect()
      const pair = async (n: number) => {
        const recipient = reader[n % reader.length]
        const id = await sendMessage(connection, sendMessageRequest(server.port, sender, `@${recipient.alias}`))
        checkHoldsOnly(await connection.send(readMessagesRequest(server.port, recipient)), id)
      }
      await pair(0)
      const before = server.bytesRead()
      for (let n = 1; n <= pairs; n++) await pair(n)
      return server.bytesRead() - before
    })
    await server.stop()

    // Not every system tells it.
    if (process.platform === 'linux') expect(bytesRead).toBeLessThan(most)
  },
  120_000,
)

/** The SQL of all indexes, by name. */
async function indexesOf({ env }: BenchDatabase): Promise<unknown[]> {
  const client = createClient({ url: env.DATABASE_URL })
  const { rows } = await client.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name")
  client.close()
  return rows.map(({ name, sql }) => [name, sql])
}
