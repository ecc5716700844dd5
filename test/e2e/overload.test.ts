/** What the callers of a grid with too much to do are answered, and when (docs/security.md, "Overload"). */
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { sendMessageRequest } from '../../scripts/bench/calls.ts'
import { Connection } from '../../scripts/bench/connection.ts'
import { cleanUp, startScript, temporaryFolder } from '../../scripts/bench/server.ts'
import { createAccounts, runFlood } from '../../scripts/flood/measure.ts'
import { isLong, someRuntimes } from '../support/long.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

test.each(someRuntimes)(
  'posts to a channel of 500 leave room for new connections and for other accounts: %s',
  async (runtime) => {
    const env = { DATABASE_URL: `file:${join(temporaryFolder(), 'grid.db')}`, OAUTH_CIMD: 'off', LOG_LEVEL: 'error' }
    const { flooding, honest: [other] } = await createAccounts(env, { honest: 1, agents: 500 })
    const server = await startScript(runtime, ['src/main.ts', 'serve'], env, '/readyz')
    const { port } = server
    const [sender, reader] = other.agents
    const request = sendMessageRequest(port, sender, `@${reader.alias}`)
    const connection = new Connection(port)
    const asked = { health: 0, sends: 0 }
    let isFlooding = true
    const keepAsking = async (what: keyof typeof asked, ask: () => Promise<{ status: number }>) => {
      while (isFlooding) {
        expect((await ask()).status).toBe(200)
        asked[what]++
      }
    }

    const order = {
      port,
      account: flooding,
      traffic: 'posts' as const,
      perSecond: 10_000,
      connections: 32,
      seconds: isLong ? 5 : 2,
    }
    const flood = runFlood(order).finally(() => isFlooding = false)
    // Each on a connection of its own.
    await Promise.all([
      keepAsking('health', () => fetch(`http://localhost:${port}/healthz`, { headers: { Connection: 'close' } })),
      keepAsking('sends', () => connection.send(request)),
    ])

    const posts = (await flood).answers.served!
    expect(posts).toBeGreaterThan(20)
    // If the write queue commits one group right after the other, it is 12 to 30.
    expect(posts / asked.health).toBeLessThan(10)
    expect(posts / asked.sends).toBeLessThan(8)
    await server.stop()
  },
)
