/** A server with little memory survives many long lists, and serves others meanwhile. */
import { afterEach, expect, test } from 'vitest'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { createAccount, openAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { openStore } from '../../src/store/store.ts'
import { addCrowd } from '../support/crowd.ts'
import { type ServerProcess, startServe, temporaryDatabase } from '../support/process.ts'
import { callTool } from './client.ts'

const system = { type: 'system', job: 'test' } as const
const database = temporaryDatabase()
let server: ServerProcess
afterEach(async () => {
  await server.stop()
  database.remove()
})

test('60 lists at a time of the largest tenant leave a server with 256 MB alive, and another account is served', async () => {
  const { attacker, askers, honest } = await fill()
  server = await startServe('node', { DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=256' })

  // By one credential, of which most are refused, and by many.
  const slowest: number[] = []
  for (const keys of [Array(60).fill(attacker), askers.flatMap((key) => Array(4).fill(key))]) {
    let isAttacked = true
    const attack = Promise.all(keys.map((key) => list(key))).finally(() => isAttacked = false)
    // Should a send fail first, it is the failure of the test.
    attack.catch(() => {})
    const times: number[] = []
    while (isAttacked) {
      const startedAt = performance.now()
      await callTool(server.url, honest, 'send_message', { to: '@helper', message: 'still here' })
      times.push(performance.now() - startedAt)
    }
    const answers = await attack
    slowest.push(Math.round(Math.max(...times)))

    expect(answers).toHaveLength(60)
    expect(times.length).toBeGreaterThan(0)
    expect(Math.max(...answers)).toBeLessThan(100_000)
  }

  console.log(`slowest send of another account beside 60 lists: ${slowest.join(' and ')} ms`)
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

/** The bytes of one answer. */
async function list(key: string): Promise<number> {
  const response = await fetch(`${server.url}/mcp/v1/grid`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_agents', arguments: { public: true } },
    }),
  })
  return (await response.arrayBuffer()).byteLength
}

/** An account with a crowd and 15 agents that ask, and another one with two agents. */
async function fill() {
  const store = await openStore(processDeps(readConfig({ DATABASE_URL: database.url, LOG_LEVEL: 'warn' })))
  const open = async (name: string, aliases: string[]) => {
    const { id } = await createAccount(store, { name, ownerEmail: `${name}@grid.example` }, system)
    const account = await openAccount(store, id, system)
    const keys: string[] = []
    for (const alias of aliases) keys.push((await createAgent(account, { alias })).apiKey)
    return { id, keys }
  }
  const crowd = await open('crowd', [])
  await addCrowd(store, crowd.id, { agents: 200, skills: 200 })
  const evil = await open('evil', Array.from({ length: 16 }, (_, n) => `asker-${n}`))
  const good = await open('good', ['honest', 'helper'])
  await store.close()
  const [attacker, ...askers] = evil.keys
  return { attacker, askers, honest: good.keys[0] }
}
