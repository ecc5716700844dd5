/** Scheduled messages of a server that is killed. Each must be sent once. The test runs only with `LONG_TESTS=1`. */
import { expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { startSqld } from '../support/sqld.ts'
import { waitFor } from '../support/wait-for.ts'
import { callTool } from './client.ts'

const messages = 100
const kills = 6

test.runIf(isLong).each([['a local file', 1], ['a libsql-server with two processes', 2]])(
  'on %s, each scheduled message is sent once although the server is killed',
  async (_, processes) => {
    const sqld = processes > 1 ? await startSqld() : undefined
    const file = temporaryDatabase()
    const { agents: [alice, bob] } = await seedAgents(sqld?.url ?? file.url, ['alice', 'bob'])
    const start = () => startServe('bun', { DATABASE_URL: sqld?.url ?? file.url, CALLS_PER_SECOND: '0' })
    const servers = await Promise.all(Array.from({ length: processes }, start))
    for (let n = 0; n < messages; n++) {
      const input = { to: '@bob', message: `${n}`, send_at: 8 + n % 4 }
      await callTool(servers[n % processes].url, alice.key, 'send_message', input)
    }

    const got: string[] = []
    let killed = 0
    await waitFor('all messages', async () => {
      const which = killed % processes
      const { messages: read } = await callTool(servers[which].url, bob.key, 'read_messages')
      got.push(
        ...read.filter(({ redelivered }: { redelivered?: true }) => !redelivered).map(({ message }: {
          message: string
        }) => message),
      )
      if (killed < kills && got.length > killed * messages / (2 * kills)) {
        killed++
        servers[which].signal('SIGKILL')
        await servers[which].ended
        servers[which] = await start()
      }
      return got.length >= messages && killed === kills
    })
    const numbers = got.map(Number).sort((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: messages }, (_, n) => n))
    for (const server of servers) await server.stop()
    await sqld?.stop()
    file.remove()
  },
  600_000,
)
